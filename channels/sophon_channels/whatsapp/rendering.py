"""Rendering of an outbound message as Cloud API payloads: WhatsApp markup, reply buttons and lists.

Source: "Text messages", "Interactive reply buttons" and "Interactive lists" of Meta's
documentation.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from sophon.invisible_characters import is_blank
from sophon_channels.contract import Button, OutboundMessage
from sophon_channels.json_fields import sanitize_text
from sophon_channels.outbound_file import build_file_fields
from sophon_channels.text.cut_points import find_fitting_end
from sophon_channels.text.markdown import runs_from_markdown
from sophon_channels.text.message_splitting import split_runs
from sophon_channels.text.raw_markdown_splitting import split_text
from sophon_channels.text.styled_text import StyledRun, TextStyle, to_plain_text
from sophon_channels.text.utf16 import utf16_length

TEXT_LIMIT = 4096
"""Characters of a text message."""
BODY_LIMIT = 1024
"""Characters of a message with buttons."""
CAPTION_LIMIT = 1024
MAX_BUTTONS = 3
MAX_TITLE_LENGTH = 20
MAX_ID_LENGTH = 256
MAX_ROWS = 10
"""Rows of a list, in all its sections."""
MAX_ROW_TITLE_LENGTH = 24
MAX_ROW_DESCRIPTION_LENGTH = 72
MAX_ROW_ID_LENGTH = 200
LIST_BUTTON = "Choose"
"""Text of the button that opens a list."""

REPEAT_MARK = "♻️ This may be a repeat:\n"
"""Prefix of a message that is sent again because it is unknown whether it arrived."""

MARKUP_RESERVE = 320
"""Units reserved in each part for markup characters and `REPEAT_MARK`."""

_EDGES = re.compile(r"(\s*)(.*?)(\s*)", re.DOTALL)


def render_payloads(message: OutboundMessage) -> list[dict[str, Any]]:
    """Return the payloads, in order, each with `text`; the last has `buttons`, or the `rows` of a list.

    `replaces_message_id` is ignored: messages cannot be edited. A file is the first payload, with `text` as its
    caption; the caption is empty if buttons need the text, and for audio. Raises ValueError for buttons that WhatsApp
    would reject. Pure.
    """
    source = sanitize_text(message.text)
    has_caption = bool(message.file_path) and not message.buttons and not message.media_type.startswith("audio/")
    first_limit = CAPTION_LIMIT if has_caption else TEXT_LIMIT
    last_limit = BODY_LIMIT if message.buttons else TEXT_LIMIT
    if message.is_markdown:
        texts = _split_marked_up(source, first_limit, last_limit)
    else:
        texts = _split_plain(source, first_limit)
    if message.buttons and texts:
        texts = [*texts[:-1], *split_text(texts[-1], BODY_LIMIT - utf16_length(REPEAT_MARK))]
    rendered: list[dict[str, Any]] = [{"text": text} for text in texts if not is_blank(text)]
    if message.file_path:
        caption = rendered.pop(0) if rendered and has_caption else {"text": ""}
        rendered.insert(0, {**caption, **build_file_fields(message.file_path, message.file_name, message.media_type)})
        if message.is_voice:
            rendered[0]["is_voice"] = True
    if not rendered:
        return []
    if message.reply_to_message_id is not None:
        rendered[0]["reply_to"] = message.reply_to_message_id
    if message.buttons:
        if "file" in rendered[-1]:
            raise ValueError("WhatsApp has no buttons below a file: they need a text")
        rendered[-1] |= _build_choices(message.buttons)
    return rendered


def _build_choices(buttons: Sequence[Button]) -> dict[str, Any]:
    """Return the reply buttons, or the rows of a list if there are too many or one has a long title.

    Optional buttons beyond the third are left out: a list costs the person a tap more for the others too.
    """
    required = sum(not button.is_optional for button in buttons)
    room = max(MAX_BUTTONS - required, 0) if required <= MAX_BUTTONS else MAX_ROWS - required
    kept = [button for button in buttons if button.is_optional][: max(room, 0)]
    buttons = [button for button in buttons if not button.is_optional or button in kept]
    is_list = len(buttons) > MAX_BUTTONS or any(
        utf16_length(sanitize_text(button.label).strip()) > MAX_TITLE_LENGTH for button in buttons
    )
    return {"rows": build_list_rows(buttons)} if is_list else {"buttons": build_reply_buttons(buttons)}


def build_list_rows(buttons: Sequence[Button]) -> list[dict[str, str]]:
    """Return the rows of a list: at most ten, with distinct labels.

    A label that is longer than a title is the description, too, whole.
    """
    if len(buttons) > MAX_ROWS:
        raise ValueError(f"WhatsApp allows {MAX_ROWS} rows of a list instead of buttons; there are {len(buttons)}")
    if min(len({button.label for button in buttons}), len({button.data for button in buttons})) < len(buttons):
        raise ValueError("two rows have the same title or id")
    return [_build_row(button) for button in buttons]


def _build_row(button: Button) -> dict[str, str]:
    label = sanitize_text(button.label).strip()
    if is_blank(label) or not 1 <= len(button.data) <= MAX_ROW_ID_LENGTH:
        raise ValueError(f"a row must have a visible title, and an id of 1 to {MAX_ROW_ID_LENGTH}: {button}")
    if utf16_length(label) <= MAX_ROW_TITLE_LENGTH:
        return {"id": button.data, "title": label}
    if utf16_length(label) > MAX_ROW_DESCRIPTION_LENGTH:
        raise ValueError(f"the title of a row must have at most {MAX_ROW_DESCRIPTION_LENGTH} characters: {label!r}")
    end = find_fitting_end(label, 0, MAX_ROW_TITLE_LENGTH - 1, utf16_length)
    return {"id": button.data, "title": f"{label[:end].rstrip()}…", "description": label}


def build_reply_buttons(buttons: Sequence[Button]) -> list[dict[str, str]]:
    """Return the reply buttons: at most three, with distinct titles."""
    if len(buttons) > MAX_BUTTONS:
        raise ValueError(f"WhatsApp allows {MAX_BUTTONS} buttons; there are {len(buttons)}")
    rendered = [{"id": button.data, "title": sanitize_text(button.label).strip()} for button in buttons]
    for item in rendered:
        if (
            is_blank(item["title"])
            or utf16_length(item["title"]) > MAX_TITLE_LENGTH
            or not 1 <= len(item["id"]) <= MAX_ID_LENGTH
        ):
            raise ValueError(
                f"a title must have 1 to {MAX_TITLE_LENGTH} characters, an id 1 to {MAX_ID_LENGTH}: {item}"
            )
    if len({item["title"] for item in rendered}) < len(rendered):
        raise ValueError("two buttons have the same title")
    return rendered


def _split_plain(text: str, first_limit: int) -> list[str]:
    if not text.strip():
        return []
    if first_limit == TEXT_LIMIT:
        return split_text(text, TEXT_LIMIT - utf16_length(REPEAT_MARK))
    reserve = utf16_length(REPEAT_MARK)
    return [
        to_plain_text(part)
        for part in split_runs([StyledRun(text)], TEXT_LIMIT - reserve, first_limit=first_limit - reserve)
    ]


def _split_marked_up(markdown: str, first_limit: int, last_limit: int) -> list[str]:
    """Split the text before adding markup, so that every mark is closed within its own message."""
    texts: list[str] = []
    parts = split_runs(
        list(_append_urls(runs_from_markdown(markdown))),
        TEXT_LIMIT - MARKUP_RESERVE,
        first_limit=first_limit - MARKUP_RESERVE,
    )
    if parts and last_limit < TEXT_LIMIT:
        parts[-1:] = split_runs(parts[-1], last_limit - MARKUP_RESERVE)
    for part in parts:
        texts += _render_fitting(part, (TEXT_LIMIT if texts else first_limit) - utf16_length(REPEAT_MARK))
    return texts


def _render_fitting(part: Sequence[StyledRun], limit: int) -> list[str]:
    """Return the part rendered, in pieces if its marks make it longer than the limit: cut before they are added, so
    that no piece has half of a pair.
    """
    text = "".join(_render_block(list(runs), quote) for quote, runs in groupby(part, key=_is_quoted))
    if utf16_length(text) <= limit:
        return [text]
    half = utf16_length(to_plain_text(part)) // 2 + 1
    return [piece for each in split_runs(part, half) for piece in _render_fitting(each, limit)]


def _append_urls(runs: Sequence[StyledRun]) -> Iterator[StyledRun]:
    """Yield the runs with each link's URL behind its whole text, before splitting: so no URL is cut or lost."""
    for link, group in groupby(runs, key=lambda run: run.style.link):
        group_runs = list(group)
        yield from (replace(run, style=replace(run.style, link=None)) for run in group_runs)
        if link and link not in "".join(run.text for run in group_runs):
            yield StyledRun(" (", TextStyle(quote=group_runs[-1].style.quote))
            yield StyledRun(f"{link})", TextStyle(quote=group_runs[-1].style.quote, link=link))


def _is_quoted(run: StyledRun) -> bool:
    """Return whether the run is quoted text; code in a quotation is not, as "> " would become part of the code."""
    return run.style.quote and run.style.code_block_language is None


def _render_block(runs: Sequence[StyledRun], quote: bool) -> str:
    text = "".join(_render_run(run) for run in runs)
    return "\n".join(f"> {line}" if line.strip() else line for line in text.split("\n")) if quote else text


def _render_run(run: StyledRun) -> str:
    style = run.style
    if style.code_block_language is not None:
        return f"```{run.text.replace('```', 'ʼʼʼ')}```"
    text = _enclose(run.text.replace("`", "ʼ"), "`") if style.code else run.text
    for applies, mark in ((style.strikethrough, "~"), (style.italic, "_"), (style.bold, "*")):
        if applies:
            text = _enclose(text, mark)
    return text


def _enclose(text: str, mark: str) -> str:
    """Enclose each line in a mark; WhatsApp requires it next to a word, so white space stays outside."""
    return "\n".join(_enclose_line(line, mark) for line in text.split("\n"))


def _enclose_line(line: str, mark: str) -> str:
    match = _EDGES.fullmatch(line)
    return f"{match[1]}{mark}{match[2]}{mark}{match[3]}" if match and match[2] else line
