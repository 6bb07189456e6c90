"""Rendering of an outbound message as Telegram payloads: HTML, with the plain text beside it."""

from collections.abc import Sequence
from typing import Any

from sophon_channels.contract import Button, Outgoing
from sophon_channels.disk import with_file
from sophon_channels.fields import storable
from sophon_channels.telegram.html import to_html
from sophon_channels.text.markdown import to_runs
from sophon_channels.text.runs import Run, cut, plain
from sophon_channels.text.units import utf16_units

TEXT_LIMIT = 4096
"""Units after entity parsing (Bot API, sendMessage); there are never fewer UTF-16 units than Telegram counts."""

REPEAT_MARK = "♻️ This may be a repeat:\n"
"""Prefix of a message that is sent again because it is unknown whether it arrived."""

PART_LIMIT = TEXT_LIMIT - utf16_units(REPEAT_MARK)
"""Maximum length of one part, in UTF-16 units, without the space for `REPEAT_MARK`."""

CAPTION_LIMIT = 1024 - utf16_units(REPEAT_MARK)
"""Units after entity parsing (Bot API, sendDocument), without the space for `REPEAT_MARK`."""

MOST_BUTTONS = 100
BUTTONS_PER_ROW = 2
LONGEST_DATA = 64
"""Bytes (Bot API, InlineKeyboardButton.callback_data)."""


def payloads(outgoing: Outgoing) -> list[dict[str, Any]]:
    """Return the payloads, in order; none for a blank text without a file. A file is the first payload, with the
    beginning of the text as its caption.

    `html` and `plain` have the same content. The first payload may have `reply_to` or `replaces` (an edit), the last
    has the `keyboard`. Raises ValueError for buttons that Telegram would reject. Pure.
    """
    text = storable(outgoing.text)
    first = CAPTION_LIMIT if outgoing.file else None
    parts = cut(to_runs(text) if outgoing.markdown else [Run(text)], PART_LIMIT, first=first)
    rendered: list[dict[str, Any]] = [{"html": to_html(part), "plain": plain(part)} for part in parts]
    if outgoing.file:
        rendered[:1] = [
            {**(rendered[0] if rendered else {}), **with_file(outgoing.file, outgoing.file_name, outgoing.media_type)}
        ]
    if not rendered:
        return []
    if outgoing.reply_to is not None:
        rendered[0]["reply_to"] = outgoing.reply_to
    if outgoing.replaces is not None and not outgoing.file:
        rendered[0]["replaces"] = outgoing.replaces
    if outgoing.buttons:
        rendered[-1]["keyboard"] = keyboard(outgoing.buttons)
    return rendered


def keyboard(buttons: Sequence[Button]) -> list[list[dict[str, str]]]:
    """Return the inline keyboard, two buttons per row; a dangerous button is red if the app supports it."""
    if len(buttons) > MOST_BUTTONS:
        raise ValueError(f"Telegram allows {MOST_BUTTONS} buttons; there are {len(buttons)}")
    flat = [_button(button) for button in buttons]
    return [flat[start : start + BUTTONS_PER_ROW] for start in range(0, len(flat), BUTTONS_PER_ROW)]


def _button(button: Button) -> dict[str, str]:
    if not 1 <= len(button.data.encode()) <= LONGEST_DATA:
        raise ValueError(f"the data of the button {button.label!r} must have 1 to {LONGEST_DATA} bytes")
    if not button.label.strip():
        raise ValueError(f"the button with the data {button.data!r} has no label")
    fields = {"text": storable(button.label), "callback_data": button.data}
    return {**fields, "style": "danger"} if button.danger else fields
