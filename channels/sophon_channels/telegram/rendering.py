"""Rendering of an outbound message as Telegram payloads: HTML, with the plain text beside it."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from sophon._python.lazy_dataclass import dataclass
from sophon.invisible_characters import is_blank
from sophon_channels.contract import Button, OutboundMessage
from sophon_channels.json_fields import sanitize_text
from sophon_channels.outbound_file import build_file_fields
from sophon_channels.telegram.app_urls import break_app_urls, style_app_urls_as_code
from sophon_channels.text.markdown import runs_from_markdown
from sophon_channels.text.message_splitting import SpanLimit, WeightedSpan, split_runs
from sophon_channels.text.styled_text import StyledRun, TextStyle, to_plain_text
from sophon_channels.text.utf16 import utf16_length

TEXT_LIMIT = 4096
"""Units after entity parsing (Bot API, sendMessage); there are never fewer UTF-16 units than Telegram counts."""

REPEAT_MARK = "♻️ This may be a repeat:\n"
"""Prefix of a message that is sent again because it is unknown whether it arrived."""

TOPIC_MARK = "↪️ For the topic {topic}, which is closed or deleted:\n"
"""Prefix of a message that is sent to the chat because its topic is gone."""

MAX_PREFIX_LENGTH = utf16_length(REPEAT_MARK) + utf16_length(TOPIC_MARK.format(topic=2**53))
"""In UTF-16 units: space that each part leaves for the prefixes."""

PART_LIMIT = TEXT_LIMIT - MAX_PREFIX_LENGTH
"""Maximum length of one part, in UTF-16 units, without the space for the prefixes."""

MAX_CAPTION_LENGTH = 1024
"""Units after entity parsing (Bot API, sendDocument)."""

CAPTION_LIMIT = MAX_CAPTION_LENGTH - MAX_PREFIX_LENGTH
"""Maximum length of a caption, in UTF-16 units, without the space for the prefixes."""

MAX_BUTTONS = 100

BUTTONS_PER_ROW = 2

MAX_CALLBACK_DATA_BYTES = 64
"""Bytes (Bot API, InlineKeyboardButton.callback_data)."""

MAX_ENTITIES = 100
"""Entities of one message."""

MAX_ENTITY_BYTES = 9000
"""Bytes of all entities of one message, with their URLs."""

_BYTES_PER_WEIGHT = MAX_ENTITY_BYTES // MAX_ENTITIES

_ENTITY_BYTES = 24
"""Bytes of an entity without its URL, estimated."""

# An address and a domain begin where a word begins: from every character of a long word, the rest would be read again.
_FOUND_BY_TELEGRAM = re.compile(
    r"(?:https?://|www\.)\S+|[@#$/]\w+"
    r"|(?<![\w.+-])[\w.+-]++@[\w.-]+"
    r"|(?<![\w-])[\w-]++(?:\.[\w-]++)+(?:/\S*)?"
)


def render_payloads(message: OutboundMessage) -> list[dict[str, Any]]:
    """Return the payloads, in order; none for a text in which nothing is visible, without a file. A file is the first
    payload, with the beginning of the text as its caption; `more_files` make it an album.

    `html` and `to_plain_text` have the same content. The first payload may have `reply_to_message_id` or
    `replaces_message_id` (an edit), the last has the `keyboard`. Raises ValueError for buttons that Telegram
    would reject. Pure.
    """
    text = sanitize_text(message.text)
    first = CAPTION_LIMIT if message.file_path else None
    runs = runs_from_markdown(text) if message.is_markdown else [StyledRun(text)]
    runs = [run for run in style_app_urls_as_code(runs) if run.text]
    parts = split_runs(runs, PART_LIMIT, first_limit=first, span_limit=build_entity_limit(runs))
    rendered: list[dict[str, Any]] = [
        {"html": html_from_runs(part), "plain": break_app_urls(to_plain_text(part))} for part in parts
    ]
    if message.file_path:
        rendered[:1] = [
            {
                **(rendered[0] if rendered else {}),
                **build_file_fields(message.file_path, message.file_name, message.media_type),
            }
        ]
    if message.file_path and message.is_voice:
        rendered[0]["is_voice"] = True
    if message.more_files:
        if message.buttons and len(rendered) == 1:
            raise ValueError("an album of Telegram has no buttons")
        more = [build_file_fields(each.path, each.name, each.media_type) for each in message.more_files]
        rendered[0]["more_files"] = more
    if not rendered:
        return []
    if message.reply_to_message_id is not None:
        rendered[0]["reply_to"] = message.reply_to_message_id
    if message.replaces_message_id is not None and not message.file_path:
        rendered[0]["replaces"] = message.replaces_message_id
    if message.buttons:
        rendered[-1]["keyboard"] = build_keyboard(message.buttons)
    return rendered


def build_keyboard(buttons: Sequence[Button]) -> list[list[dict[str, str]]]:
    """Return the inline keyboard, two buttons per row; a dangerous button is red if the app supports it."""
    if len(buttons) > MAX_BUTTONS:
        raise ValueError(f"Telegram allows {MAX_BUTTONS} buttons; there are {len(buttons)}")
    flat = [_button(button) for button in buttons]
    return [flat[start : start + BUTTONS_PER_ROW] for start in range(0, len(flat), BUTTONS_PER_ROW)]


def _button(button: Button) -> dict[str, str]:
    if not 1 <= len(button.data.encode()) <= MAX_CALLBACK_DATA_BYTES:
        raise ValueError(f"the data of the button {button.label!r} must have 1 to {MAX_CALLBACK_DATA_BYTES} bytes")
    if is_blank(button.label):
        raise ValueError(f"the button with the data {button.data!r} has no label")
    fields = {"text": sanitize_text(button.label), "callback_data": button.data}
    return {**fields, "style": "danger"} if button.is_dangerous else fields


def build_entity_limit(runs: Sequence[StyledRun]) -> SpanLimit:
    """Return the entities of the runs, as positions in their text, with the budget of one message. Pure.

    Telegram formats only the first 100 entities of a message and answers ENTITIES_TOO_LONG to more than about 9,500
    bytes of them, which long URLs reach (tdlib/telegram-bot-api issue 165). What Telegram finds by itself (URLs,
    mentions, hashtags, commands, addresses) counts too.
    """
    return SpanLimit(list(find_entities(runs)), MAX_ENTITIES)


def find_entities(runs: Sequence[StyledRun]) -> Iterator[WeightedSpan]:
    """Yield a span for each tag that the HTML of the runs opens, and for what Telegram finds in the text outside code.
    Pure.
    """
    position = 0
    is_open: list[tuple[str, int]] = []  # opening tag, position
    for run in runs:
        required = html_tags(run.style)
        shared = 0
        while shared < min(len(is_open), len(required)) and is_open[shared][0] == required[shared]:
            shared += 1
        yield from (_entity(tag, start, position) for tag, start in is_open[shared:])
        is_open[shared:] = [(tag, position) for tag in required[shared:]]
        if not run.style.code and run.style.code_block_language is None and run.style.link is None:
            for found in _FOUND_BY_TELEGRAM.finditer(run.text):
                yield WeightedSpan(position + found.start(), position + found.end())
        position += len(run.text)
    yield from (_entity(tag, start, position) for tag, start in is_open)


def _entity(tag: str, start: int, end: int) -> WeightedSpan:
    size = _ENTITY_BYTES + (len(tag.encode("utf-8", "surrogatepass")) if tag.startswith("<a ") else 0)
    return WeightedSpan(start, end, -(-size // _BYTES_PER_WEIGHT))


@dataclass(frozen=True, slots=True)
class _Tag:
    opening: str
    closing: str


_QUOTE = _Tag("<blockquote>", "</blockquote>")

_BOLD = _Tag("<b>", "</b>")

_ITALIC = _Tag("<i>", "</i>")

_STRIKE = _Tag("<s>", "</s>")

_CODE = _Tag("<code>", "</code>")

_PRE = _Tag("<pre>", "</pre>")


def html_from_runs(runs: Sequence[StyledRun]) -> str:
    """Return the runs as HTML; every tag is closed, in order. Pure."""
    return "".join(_render(runs))


def escape_html(text: str) -> str:
    """Escape `<`, `>` and `&`; no other character has a meaning between tags."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def html_tags(style: TextStyle) -> list[str]:
    """Return the opening tags of a style, from outermost to innermost; equal tags of adjacent runs are one. Pure."""
    return [tag.opening for tag in _tags(style)]


def _render(runs: Sequence[StyledRun]) -> Iterator[str]:
    open_tags: list[_Tag] = []
    for run in runs:
        required = _tags(run.style)
        shared = 0
        while shared < min(len(open_tags), len(required)) and open_tags[shared] == required[shared]:
            shared += 1
        yield from (tag.closing for tag in reversed(open_tags[shared:]))
        yield from (tag.opening for tag in required[shared:])
        yield escape_html(run.text)
        open_tags = required
    yield from (tag.closing for tag in reversed(open_tags))


def _tags(style: TextStyle) -> list[_Tag]:
    """Return the tags from outermost to innermost. The Bot API allows code only alone or in a quotation."""
    tags = [_QUOTE] if style.quote else []
    if style.code_block_language is not None:
        return [*tags, _code_block_tag(style.code_block_language)]
    if style.code and not style.link:
        return [*tags, _CODE]
    if style.link:
        tags.append(_Tag(f'<a href="{_escape_attribute(style.link)}">', "</a>"))
    styles = ((style.bold, _BOLD), (style.italic, _ITALIC), (style.strikethrough, _STRIKE))
    return tags + [tag for is_set, tag in styles if is_set]


def _code_block_tag(language: str) -> _Tag:
    if not language:
        return _PRE
    return _Tag(f'<pre><code class="language-{_escape_attribute(language)}">', "</code></pre>")


def _escape_attribute(value: str) -> str:
    return escape_html(value).replace('"', "&quot;")
