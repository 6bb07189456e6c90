"""Bot API request bodies: the fields of each method as plain JSON. Pure."""

from collections.abc import Mapping
from typing import Any

from sophon_channels.fields import storable
from sophon_channels.telegram.render import REPEAT_MARK
from sophon_channels.text.cuts import best_cut, reach
from sophon_channels.text.units import utf16_units

ALLOWED_UPDATES = ("message", "callback_query")
"""The update types that the bot subscribes to."""

UPLOAD = "file"
"""Name of the uploaded file within a request."""

GENERAL_TOPIC = "1"
"""Telegram's id of a forum's General topic: sendMessage rejects it, sendChatAction does not."""

LONGEST_NOTE = 200
"""In UTF-16 units, the text of answerCallbackQuery."""

LONGEST_PROGRESS = 4096
"""In UTF-16 units."""

COMMANDS = (
    ("new", "Start a new conversation"),
    ("stop", "Stop the running tasks"),
    ("status", "Show running and waiting tasks"),
    ("model", "Show or select the model"),
    ("usage", "Show tokens and cost of this conversation"),
    ("approve", "Approve a call: /approve ID"),
    ("reject", "Reject a call: /reject ID REASON"),
    ("pending", "List the approvals that wait for a decision"),
    ("help", "List the commands"),
)
"""Names and descriptions for setMyCommands."""


def chat_and_thread(key: str) -> tuple[str, str | None]:
    """Return chat id and thread id of a `Place.key`."""
    chat, _, thread = key.partition("/")
    return chat, thread or None


def message(key: str, payload: Mapping[str, Any], *, as_html: bool, is_repeat: bool = False) -> dict[str, Any]:
    """Return the fields of sendMessage for a payload of `render.payloads`."""
    mark = REPEAT_MARK if is_repeat else ""
    fields = {**_target_fields(key), **_reply_fields(payload), **_text_fields(payload, as_html=as_html, mark=mark)}
    if payload.get("is_silent"):
        fields["disable_notification"] = True
    return fields


def file(key: str, payload: Mapping[str, Any], kind: str, *, as_html: bool, is_repeat: bool = False) -> dict[str, Any]:
    """Return the fields of sendPhoto or sendDocument (`kind`: photo, document) for a payload with a file, which is
    uploaded as `UPLOAD` in the same request.
    """
    fields = {**_target_fields(key), **_reply_fields(payload), **_keyboard_fields(payload), kind: f"attach://{UPLOAD}"}
    mark = REPEAT_MARK if is_repeat else ""
    if as_html and payload.get("html"):
        return {**fields, "caption": mark + payload["html"], "parse_mode": "HTML"}
    caption = (mark + payload.get("plain", "")).strip()
    return {**fields, "caption": caption} if caption else fields


def edit(key: str, payload: Mapping[str, Any], *, as_html: bool) -> dict[str, Any]:
    """Return the fields of editMessageText for a payload with `replaces`; buttons that it lacks are removed."""
    chat, _ = chat_and_thread(key)
    return {"chat_id": int(chat), "message_id": int(payload["replaces"]), **_text_fields(payload, as_html=as_html)}


def progress(text: str, shown: str | None, reply_to: str | None) -> dict[str, Any]:
    """Return the payload of a preview: plain text, cut to one message, without notification."""
    text = storable(text)
    end = reach(text, 0, LONGEST_PROGRESS, utf16_units)
    plain = text if end == len(text) else text[: best_cut(text, 0, end)]
    payload: dict[str, Any] = {"plain": plain, "is_silent": True}
    if shown is not None:
        payload["replaces"] = shown
    if reply_to is not None:
        payload["reply_to"] = reply_to
    return payload


def note(press_id: str, text: str) -> dict[str, Any]:
    """Return the fields of answerCallbackQuery."""
    text = storable(text)
    return {"callback_query_id": press_id, "text": text[: reach(text, 0, LONGEST_NOTE, utf16_units)] or None}


def typing(chat: str, thread: str | None) -> dict[str, Any]:
    """Return the fields of sendChatAction for the typing indicator."""
    return {"chat_id": int(chat), "action": "typing", **({"message_thread_id": int(thread)} if thread else {})}


def updates(offset: int | None, timeout_seconds: int) -> dict[str, Any]:
    """Return the fields of getUpdates; always with the update types, because Telegram remembers an earlier choice."""
    return {"offset": offset, "timeout": timeout_seconds, "limit": 100, "allowed_updates": list(ALLOWED_UPDATES)}


def webhook(url: str, secret: str) -> dict[str, Any]:
    """Return the fields of setWebhook: one connection preserves the order of a chat; pending updates are kept."""
    return {
        "url": url,
        "secret_token": secret,
        "max_connections": 1,
        "drop_pending_updates": False,
        "allowed_updates": list(ALLOWED_UPDATES),
    }


def commands() -> dict[str, Any]:
    """Return the fields of setMyCommands."""
    return {"commands": [{"command": name, "description": description} for name, description in COMMANDS]}


def _target_fields(key: str) -> dict[str, Any]:
    chat, thread = chat_and_thread(key)
    in_topic = thread is not None and thread != GENERAL_TOPIC
    return {"chat_id": int(chat), **({"message_thread_id": int(thread)} if thread is not None and in_topic else {})}


def _text_fields(payload: Mapping[str, Any], *, as_html: bool, mark: str = "") -> dict[str, Any]:
    fields: dict[str, Any] = {"link_preview_options": {"is_disabled": True}, **_keyboard_fields(payload)}
    if as_html and "html" in payload:
        fields |= {"text": mark + payload["html"], "parse_mode": "HTML"}
    else:
        fields["text"] = mark + payload["plain"]
    return fields


def _reply_fields(payload: Mapping[str, Any]) -> dict[str, Any]:
    if (reply_to := payload.get("reply_to")) is None:
        return {}
    return {"reply_parameters": {"message_id": int(reply_to), "allow_sending_without_reply": True}}


def _keyboard_fields(payload: Mapping[str, Any]) -> dict[str, Any]:
    keyboard = payload.get("keyboard")
    return {"reply_markup": {"inline_keyboard": keyboard}} if keyboard else {}
