"""What is asked of the Bot API, as plain fields of its methods. Pure."""

from collections.abc import Mapping
from typing import Any

from sophon_channels.fields import storable
from sophon_channels.telegram.parse import ALLOWED_UPDATES
from sophon_channels.telegram.render import REPEAT_MARK
from sophon_channels.text.cuts import best_cut, reach
from sophon_channels.text.units import utf16_units

UPLOAD = "file"
"""What a file is called in the request that it is a part of."""

GENERAL_TOPIC = "1"
"""Telegram's number of a forum's General topic: a message that names it is refused, the typing sign is not."""

LONGEST_NOTE = 200
"""Units of the text of answerCallbackQuery."""

LONGEST_PROGRESS = 4096

COMMANDS = (
    ("new", "Begin a new conversation"),
    ("stop", "Stop what is being done"),
    ("status", "What is being done"),
    ("model", "Show or choose the model"),
    ("usage", "What was used, and what is left"),
    ("approve", "Approve what was asked for: /approve ID"),
    ("reject", "Reject what was asked for: /reject ID"),
    ("pending", "What waits for an approval"),
    ("help", "What can be done here"),
)


def chat_and_thread(key: str) -> tuple[str, str | None]:
    """A `Place.key` in its two parts."""
    chat, _, thread = key.partition("/")
    return chat, thread or None


def message(key: str, payload: Mapping[str, Any], *, as_html: bool, is_repeat: bool = False) -> dict[str, Any]:
    """The fields of sendMessage for a payload of `render.payloads`."""
    mark = REPEAT_MARK if is_repeat else ""
    fields = {**_target(key), **_answering(payload), **_text(payload, as_html=as_html, mark=mark)}
    if payload.get("is_silent"):
        fields["disable_notification"] = True
    return fields


def file(key: str, payload: Mapping[str, Any], kind: str, *, as_html: bool, is_repeat: bool = False) -> dict[str, Any]:
    """The fields of sendPhoto or sendDocument (`kind`: photo, document) for a payload with a file, which is uploaded
    with them as `UPLOAD`.
    """
    fields = {**_target(key), **_answering(payload), **_keyboard(payload), kind: f"attach://{UPLOAD}"}
    mark = REPEAT_MARK if is_repeat else ""
    if as_html and payload.get("html"):
        return {**fields, "caption": mark + payload["html"], "parse_mode": "HTML"}
    caption = (mark + payload.get("plain", "")).strip()
    return {**fields, "caption": caption} if caption else fields


def edit(key: str, payload: Mapping[str, Any], *, as_html: bool) -> dict[str, Any]:
    """The fields of editMessageText for a payload with `replaces`; buttons that it does not have are taken away."""
    chat, _ = chat_and_thread(key)
    return {"chat_id": int(chat), "message_id": int(payload["replaces"]), **_text(payload, as_html=as_html)}


def progress(text: str, shown: str | None, reply_to: str | None) -> dict[str, Any]:
    """A payload, in plain text, cut to one message."""
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
    """The fields of answerCallbackQuery."""
    text = storable(text)
    return {"callback_query_id": press_id, "text": text[: reach(text, 0, LONGEST_NOTE, utf16_units)] or None}


def typing(chat: str, thread: str | None) -> dict[str, Any]:
    """The fields of sendChatAction."""
    return {"chat_id": int(chat), "action": "typing", **({"message_thread_id": int(thread)} if thread else {})}


def updates(offset: int | None, timeout_seconds: int) -> dict[str, Any]:
    """The fields of getUpdates; the allowed kinds are always named, or an earlier setting would stay."""
    return {"offset": offset, "timeout": timeout_seconds, "limit": 100, "allowed_updates": list(ALLOWED_UPDATES)}


def webhook(url: str, secret: str) -> dict[str, Any]:
    """The fields of setWebhook: one connection keeps the updates of a chat in order, and nothing pending is dropped."""
    return {
        "url": url,
        "secret_token": secret,
        "max_connections": 1,
        "drop_pending_updates": False,
        "allowed_updates": list(ALLOWED_UPDATES),
    }


def commands() -> dict[str, Any]:
    """The fields of setMyCommands."""
    return {"commands": [{"command": name, "description": description} for name, description in COMMANDS]}


def _target(key: str) -> dict[str, Any]:
    chat, thread = chat_and_thread(key)
    in_topic = thread is not None and thread != GENERAL_TOPIC
    return {"chat_id": int(chat), **({"message_thread_id": int(thread)} if thread is not None and in_topic else {})}


def _text(payload: Mapping[str, Any], *, as_html: bool, mark: str = "") -> dict[str, Any]:
    fields: dict[str, Any] = {"link_preview_options": {"is_disabled": True}, **_keyboard(payload)}
    if as_html and "html" in payload:
        fields |= {"text": mark + payload["html"], "parse_mode": "HTML"}
    else:
        fields["text"] = mark + payload["plain"]
    return fields


def _answering(payload: Mapping[str, Any]) -> dict[str, Any]:
    if (reply_to := payload.get("reply_to")) is None:
        return {}
    return {"reply_parameters": {"message_id": int(reply_to), "allow_sending_without_reply": True}}


def _keyboard(payload: Mapping[str, Any]) -> dict[str, Any]:
    keyboard = payload.get("keyboard")
    return {"reply_markup": {"inline_keyboard": keyboard}} if keyboard else {}
