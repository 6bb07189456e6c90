"""What a person is to read, as payloads of the Cloud API: WhatsApp's own marks, and reply buttons.

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
BODY_LIMIT = 1024
CAPTION_LIMIT = 1024
MOST_BUTTONS = 3
LONGEST_TITLE = 20
LONGEST_ID = 256

REPEAT_MARK = "♻️ This may be a repeat:\n"
"""Before what is sent once more because nobody knows whether it arrived."""

MARKS = 320
"""Units that are kept free in a part for what marks and the repeat's line add."""

_EDGES = re.compile(r"(\s*)(.*?)(\s*)", re.DOTALL)


def payloads(outgoing: Outgoing) -> list[dict[str, Any]]:
    """The messages in order, `text` each; the last has `buttons`. `replaces` has no meaning here: nothing can be
    changed. A file is the first, and its `text` the caption; there is none where buttons need the text, and none of a
    recording. Raises ValueError for buttons that WhatsApp would refuse. Pure.
    """
    source = storable(outgoing.text)
    has_caption = bool(outgoing.file) and not outgoing.buttons and not outgoing.media_type.startswith("audio/")
    first = CAPTION_LIMIT if has_caption else TEXT_LIMIT
    texts = _marked(source, first) if outgoing.markdown else _plain(source, first)
    if outgoing.buttons and texts:
        texts = [*texts[:-1], *split(texts[-1], BODY_LIMIT - utf16_units(REPEAT_MARK))]
    made: list[dict[str, Any]] = [{"text": text} for text in texts]
    if outgoing.file:
        caption = made.pop(0) if made and has_caption else {"text": ""}
        made.insert(0, {**caption, **with_file(outgoing.file, outgoing.file_name, outgoing.media_type)})
    if not made:
        return []
    if outgoing.reply_to is not None:
        made[0]["reply_to"] = outgoing.reply_to
    if outgoing.buttons:
        if "file" in made[-1]:
            raise ValueError("WhatsApp has no buttons at a file: they need a text")
        made[-1]["buttons"] = buttons(outgoing.buttons)
    return made


def buttons(given: Sequence[Button]) -> list[dict[str, str]]:
    """At most three, with titles of their own."""
    if len(given) > MOST_BUTTONS:
        raise ValueError(f"WhatsApp has room for {MOST_BUTTONS} buttons; there are {len(given)}")
    made = [{"id": button.data, "title": storable(button.label).strip()} for button in given]
    for each in made:
        if not 1 <= utf16_units(each["title"]) <= LONGEST_TITLE or not 1 <= len(each["id"]) <= LONGEST_ID:
            raise ValueError(f"a title has 1 to {LONGEST_TITLE} characters, an id 1 to {LONGEST_ID}: {each}")
    if len({each["title"] for each in made}) < len(made):
        raise ValueError("two buttons have the same title")
    return made


def _plain(text: str, first: int) -> list[str]:
    if not text.strip():
        return []
    if first == TEXT_LIMIT:
        return split(text, TEXT_LIMIT - utf16_units(REPEAT_MARK))
    room = utf16_units(REPEAT_MARK)
    return [plain(part) for part in cut([Run(text)], TEXT_LIMIT - room, first=first - room)]


def _marked(markdown: str, first: int) -> list[str]:
    """Cut as text and marked afterwards, so that every mark is closed in its own message."""
    texts: list[str] = []
    for part in cut(list(_with_addresses(to_runs(markdown))), TEXT_LIMIT - MARKS, first=first - MARKS):
        text = "".join(_block(list(runs), quote) for quote, runs in groupby(part, key=_is_quoted))
        room = (TEXT_LIMIT if texts else first) - utf16_units(REPEAT_MARK)
        texts += [text] if utf16_units(text) <= room else split(text, room)
    return texts


def _with_addresses(runs: Sequence[Run]) -> Iterator[Run]:
    """A link's address behind the whole of its text, before it is cut: a cut leaves it whole, and never loses it."""
    for link, group in groupby(runs, key=lambda run: run.look.link):
        same = list(group)
        yield from (replace(run, look=replace(run.look, link=None)) for run in same)
        if link and link not in "".join(run.text for run in same):
            yield Run(" (", Look(quote=same[-1].look.quote))
            yield Run(f"{link})", Look(quote=same[-1].look.quote, link=link))


def _is_quoted(run: Run) -> bool:
    """A code block in a quotation stands by itself: the signs before its lines would be read as code."""
    return run.look.quote and run.look.pre is None


def _block(runs: Sequence[Run], quote: bool) -> str:
    text = "".join(_written(run) for run in runs)
    return "\n".join(f"> {line}" if line.strip() else line for line in text.split("\n")) if quote else text


def _written(run: Run) -> str:
    look = run.look
    if look.pre is not None:
        return f"```{run.text.replace('```', 'ʼʼʼ')}```"
    text = _around(run.text.replace("`", "ʼ"), "`") if look.code else run.text
    for applies, mark in ((look.strike, "~"), (look.italic, "_"), (look.bold, "*")):
        if applies:
            text = _around(text, mark)
    return text


def _around(text: str, mark: str) -> str:
    """A mark counts only beside a word: white space stays outside; a line break ends it."""
    return "\n".join(_line_around(line, mark) for line in text.split("\n"))


def _line_around(line: str, mark: str) -> str:
    found = _EDGES.fullmatch(line)
    return f"{found[1]}{mark}{found[2]}{mark}{found[3]}" if found and found[2] else line
