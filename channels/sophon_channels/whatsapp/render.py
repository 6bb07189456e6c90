"""Rendering of an outbound message as Cloud API payloads: WhatsApp markup and reply buttons.

Source: reference/channels.md; "Text messages" and "Interactive reply buttons" of Meta's documentation.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from sophon_channels.contract import Button, Outgoing
from sophon_channels.disk import with_file
from sophon_channels.fields import storable
from sophon_channels.text.markdown import to_runs
from sophon_channels.text.runs import Look, Run, cut, plain
from sophon_channels.text.splitting import split
from sophon_channels.text.units import utf16_units

TEXT_LIMIT = 4096
"""Characters of a text message."""
BODY_LIMIT = 1024
"""Characters of a message with buttons."""
CAPTION_LIMIT = 1024
MOST_BUTTONS = 3
LONGEST_TITLE = 20
LONGEST_ID = 256

REPEAT_MARK = "♻️ This may be a repeat:\n"
"""Prefix of a message that is sent again because it is unknown whether it arrived."""

MARKS = 320
"""Units reserved in each part for markup characters and `REPEAT_MARK`."""

_EDGES = re.compile(r"(\s*)(.*?)(\s*)", re.DOTALL)


def payloads(outgoing: Outgoing) -> list[dict[str, Any]]:
    """Return the payloads, in order, each with `text`; the last has `buttons`. `replaces` is ignored: messages cannot
    be edited. A file is the first payload, with `text` as its caption; the caption is empty if buttons need the text,
    and for audio. Raises ValueError for buttons that WhatsApp would reject. Pure.
    """
    source = storable(outgoing.text)
    has_caption = bool(outgoing.file) and not outgoing.buttons and not outgoing.media_type.startswith("audio/")
    first_limit = CAPTION_LIMIT if has_caption else TEXT_LIMIT
    texts = _split_marked_up(source, first_limit) if outgoing.markdown else _split_plain(source, first_limit)
    if outgoing.buttons and texts:
        texts = [*texts[:-1], *split(texts[-1], BODY_LIMIT - utf16_units(REPEAT_MARK))]
    rendered: list[dict[str, Any]] = [{"text": text} for text in texts]
    if outgoing.file:
        caption = rendered.pop(0) if rendered and has_caption else {"text": ""}
        rendered.insert(0, {**caption, **with_file(outgoing.file, outgoing.file_name, outgoing.media_type)})
    if not rendered:
        return []
    if outgoing.reply_to is not None:
        rendered[0]["reply_to"] = outgoing.reply_to
    if outgoing.buttons:
        if "file" in rendered[-1]:
            raise ValueError("WhatsApp has no buttons below a file: they need a text")
        rendered[-1]["buttons"] = buttons(outgoing.buttons)
    return rendered


def buttons(given: Sequence[Button]) -> list[dict[str, str]]:
    """Return the reply buttons: at most three, with distinct titles."""
    if len(given) > MOST_BUTTONS:
        raise ValueError(f"WhatsApp allows {MOST_BUTTONS} buttons; there are {len(given)}")
    rendered = [{"id": button.data, "title": storable(button.label).strip()} for button in given]
    for item in rendered:
        if not 1 <= utf16_units(item["title"]) <= LONGEST_TITLE or not 1 <= len(item["id"]) <= LONGEST_ID:
            raise ValueError(f"a title must have 1 to {LONGEST_TITLE} characters, an id 1 to {LONGEST_ID}: {item}")
    if len({item["title"] for item in rendered}) < len(rendered):
        raise ValueError("two buttons have the same title")
    return rendered


def _split_plain(text: str, first_limit: int) -> list[str]:
    if not text.strip():
        return []
    if first_limit == TEXT_LIMIT:
        return split(text, TEXT_LIMIT - utf16_units(REPEAT_MARK))
    reserve = utf16_units(REPEAT_MARK)
    return [plain(part) for part in cut([Run(text)], TEXT_LIMIT - reserve, first=first_limit - reserve)]


def _split_marked_up(markdown: str, first_limit: int) -> list[str]:
    """Split the text before adding markup, so that every mark is closed within its own message."""
    texts: list[str] = []
    for part in cut(list(_append_urls(to_runs(markdown))), TEXT_LIMIT - MARKS, first=first_limit - MARKS):
        text = "".join(_render_block(list(runs), quote) for quote, runs in groupby(part, key=_is_quoted))
        limit = (TEXT_LIMIT if texts else first_limit) - utf16_units(REPEAT_MARK)
        texts += [text] if utf16_units(text) <= limit else split(text, limit)
    return texts


def _append_urls(runs: Sequence[Run]) -> Iterator[Run]:
    """Yield the runs with each link's URL behind its whole text, before splitting: so no URL is cut or lost."""
    for link, group in groupby(runs, key=lambda run: run.look.link):
        group_runs = list(group)
        yield from (replace(run, look=replace(run.look, link=None)) for run in group_runs)
        if link and link not in "".join(run.text for run in group_runs):
            yield Run(" (", Look(quote=group_runs[-1].look.quote))
            yield Run(f"{link})", Look(quote=group_runs[-1].look.quote, link=link))


def _is_quoted(run: Run) -> bool:
    """Return whether the run is quoted text; code in a quotation is not, as "> " would become part of the code."""
    return run.look.quote and run.look.pre is None


def _render_block(runs: Sequence[Run], quote: bool) -> str:
    text = "".join(_render_run(run) for run in runs)
    return "\n".join(f"> {line}" if line.strip() else line for line in text.split("\n")) if quote else text


def _render_run(run: Run) -> str:
    style = run.look
    if style.pre is not None:
        return f"```{run.text.replace('```', 'ʼʼʼ')}```"
    text = _enclose(run.text.replace("`", "ʼ"), "`") if style.code else run.text
    for applies, mark in ((style.strike, "~"), (style.italic, "_"), (style.bold, "*")):
        if applies:
            text = _enclose(text, mark)
    return text


def _enclose(text: str, mark: str) -> str:
    """Enclose each line in a mark; WhatsApp requires it next to a word, so white space stays outside."""
    return "\n".join(_enclose_line(line, mark) for line in text.split("\n"))


def _enclose_line(line: str, mark: str) -> str:
    match = _EDGES.fullmatch(line)
    return f"{match[1]}{mark}{match[2]}{mark}{match[3]}" if match and match[2] else line
