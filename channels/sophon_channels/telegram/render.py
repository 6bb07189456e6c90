"""What a person is to read, as payloads of Telegram's messages: HTML, and the plain text beside it."""

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
"""Units after entities are parsed (Bot API, sendMessage); UTF-16 units are never fewer than what Telegram counts."""

REPEAT_MARK = "♻️ This may be a repeat:\n"
"""Stands before a message that is sent once more because nobody knows whether it arrived."""

PART_LIMIT = TEXT_LIMIT - utf16_units(REPEAT_MARK)

CAPTION_LIMIT = 1024 - utf16_units(REPEAT_MARK)
"""Units after entities are parsed (Bot API, sendDocument), without the room that a repeat's line needs."""

MOST_BUTTONS = 100
BUTTONS_PER_ROW = 2
LONGEST_DATA = 64
"""Bytes (Bot API, InlineKeyboardButton.callback_data)."""


def payloads(outgoing: Outgoing) -> list[dict[str, Any]]:
    """The messages, in order; none for a text without anything to read, unless there is a file: that is the first, and
    its caption the text's beginning.

    `html` and `plain` say the same. The first may be a `reply_to` or an edit (`replaces`), the last has the `keyboard`.
    Raises ValueError for buttons that Telegram would refuse. Pure.
    """
    text = storable(outgoing.text)
    first = CAPTION_LIMIT if outgoing.file else None
    parts = cut(to_runs(text) if outgoing.markdown else [Run(text)], PART_LIMIT, first=first)
    made: list[dict[str, Any]] = [{"html": to_html(part), "plain": plain(part)} for part in parts]
    if outgoing.file:
        made[:1] = [{**(made[0] if made else {}), **with_file(outgoing.file, outgoing.file_name, outgoing.media_type)}]
    if not made:
        return []
    if outgoing.reply_to is not None:
        made[0]["reply_to"] = outgoing.reply_to
    if outgoing.replaces is not None and not outgoing.file:
        made[0]["replaces"] = outgoing.replaces
    if outgoing.buttons:
        made[-1]["keyboard"] = keyboard(outgoing.buttons)
    return made


def keyboard(buttons: Sequence[Button]) -> list[list[dict[str, str]]]:
    """Rows of two. A dangerous one is red where the app can show that."""
    if len(buttons) > MOST_BUTTONS:
        raise ValueError(f"Telegram has room for {MOST_BUTTONS} buttons; there are {len(buttons)}")
    made = [_button(button) for button in buttons]
    return [made[start : start + BUTTONS_PER_ROW] for start in range(0, len(made), BUTTONS_PER_ROW)]


def _button(button: Button) -> dict[str, str]:
    if not 1 <= len(button.data.encode()) <= LONGEST_DATA:
        raise ValueError(f"a button's data has 1 to {LONGEST_DATA} bytes; that of {button.label!r} has not")
    if not button.label.strip():
        raise ValueError(f"the button with the data {button.data!r} has no label")
    made = {"text": storable(button.label), "callback_data": button.data}
    return {**made, "style": "danger"} if button.danger else made
