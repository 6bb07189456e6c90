"""App URLs in outgoing text: Telegram turns `tg://...` and the like into links that act in the app, so they are kept
from becoming links.

Telegram links them in any text, without markup; it links nothing inside code (Bot API, MessageEntity).
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from sophon_channels.text.styled_text import StyledRun

_SCHEME = r"(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{0,30}:"
_APP_URL = re.compile(rf"https?://\S+|(?P<app>{_SCHEME}//[^\s)]*)", re.IGNORECASE)
_APP_SCHEME = re.compile(rf"https?://\S+|(?P<app>{_SCHEME})(?=//)", re.IGNORECASE)


def style_app_urls_as_code(runs: Iterable[StyledRun]) -> Iterator[StyledRun]:
    """Yield the runs with every URL that is neither http nor https as code; the text stays the same. Pure."""
    for run in runs:
        if run.style.code or run.style.link or run.style.code_block_language is not None:
            yield run
            continue
        at = 0
        for found in _APP_URL.finditer(run.text):
            if not found["app"]:
                continue
            yield StyledRun(run.text[at : found.start()], run.style)
            yield StyledRun(found[0], replace(run.style, code=True))
            at = found.end()
        yield StyledRun(run.text[at:], run.style)


def break_app_urls(text: str) -> str:
    """Return plain text with a space inside every such URL, for messages without markup. Pure."""
    return _APP_SCHEME.sub(lambda found: f"{found['app']} " if found["app"] else found[0], text)
