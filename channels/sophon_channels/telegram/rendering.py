"""Rendering of an outbound message as Telegram payloads: HTML, with the plain text beside it."""

from collections.abc import Sequence
from typing import Any

from sophon.visible_text import is_blank
from sophon_channels.contract import Button, OutboundMessage
from sophon_channels.json_fields import sanitize_text
from sophon_channels.outbound_file import build_file_fields
from sophon_channels.telegram.app_urls import break_app_urls, style_app_urls_as_code
from sophon_channels.telegram.entities import build_entity_budget
from sophon_channels.telegram.html import html_from_runs
from sophon_channels.text.markdown import runs_from_markdown
from sophon_channels.text.styled_text import StyledRun, split_runs, to_plain_text
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
    parts = split_runs(runs, PART_LIMIT, first_limit=first, budget=build_entity_budget(runs))
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
