"""Bot API request bodies: the fields of each method as plain JSON. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from sophon_channels.json_fields import sanitize_text
from sophon_channels.telegram.app_urls import break_app_urls
from sophon_channels.telegram.rendering import PART_LIMIT, REPEAT_MARK
from sophon_channels.text.cut_points import find_best_cut, find_fitting_end
from sophon_channels.text.utf16 import utf16_length

ALLOWED_UPDATES = ("message", "edited_message", "callback_query", "message_reaction")
"""The update types that the bot subscribes to."""

UPLOAD_FIELD = "file"
"""Name of the uploaded file within a request."""

GENERAL_TOPIC_ID = "1"
"""Telegram's id of a forum's General topic: sendMessage rejects it, sendChatAction does not."""

MAX_CALLBACK_TEXT_LENGTH = 200
"""In UTF-16 units, the text of answerCallbackQuery."""

MAX_PREVIEW_LENGTH = PART_LIMIT
"""In UTF-16 units."""

BOT_COMMANDS = (
    ("start", "Show what this is, and the commands"),
    ("new", "Start a new conversation"),
    ("stop", "Stop the running tasks"),
    ("status", "Show running and waiting tasks"),
    ("model", "Show or select the model"),
    ("usage", "Show tokens and cost of this conversation"),
    ("last", "Send undelivered answers again, or the last one"),
    ("approve", "Approve a call: /approve ID"),
    ("edit", "Change the arguments of a call: /edit ID"),
    ("cancel", "End the editing of a call"),
    ("reject", "Reject a call: /reject ID REASON"),
    ("answer", "Answer a question: /answer ID TEXT"),
    ("pending", "List the approvals that wait for a decision"),
    ("help", "List the commands"),
)
"""Names and descriptions for setMyCommands."""


def split_chat_key(key: str) -> tuple[str, str | None]:
    """Return chat id and thread id of a chat key, `CHAT` or `CHAT/THREAD`."""
    chat, _, thread = key.partition("/")
    return chat, thread or None


def build_send_message(
    chat_key: str, payload: Mapping[str, Any], *, as_html: bool, is_repeat: bool = False
) -> dict[str, Any]:
    """Return the fields of sendMessage for a payload of `render.payloads`."""
    mark = REPEAT_MARK if is_repeat else ""
    return {
        **_target_fields(chat_key),
        **_reply_fields(payload),
        **_sound_fields(payload),
        **_text_fields(payload, as_html=as_html, mark=mark),
    }


def build_send_file(
    chat_key: str, payload: Mapping[str, Any], kind: str, *, as_html: bool, is_repeat: bool = False
) -> dict[str, Any]:
    """Return the fields of sendPhoto, sendDocument or sendVoice (`kind`: photo, document, voice) for a payload with a
    file, which is uploaded as `UPLOAD_FIELD` in the same request.
    """
    fields = {
        **_target_fields(chat_key),
        **_reply_fields(payload),
        **_sound_fields(payload),
        **_keyboard_fields(payload),
        kind: f"attach://{UPLOAD_FIELD}",
    }
    return {**fields, **_caption_fields(payload, as_html=as_html, is_repeat=is_repeat)}


def build_send_media_group(
    chat_key: str,
    payload: Mapping[str, Any],
    media: Sequence[tuple[str, str]],
    *,
    as_html: bool,
    is_repeat: bool = False,
) -> dict[str, Any]:
    """Return the fields of sendMediaGroup; `media` are the kind (photo, video, document, audio) and the id or
    attachment of each file. The first one has the caption.
    """
    items: list[dict[str, Any]] = [{"type": kind, "media": each} for kind, each in media]
    items[0] |= _caption_fields(payload, as_html=as_html, is_repeat=is_repeat)
    return {**_target_fields(chat_key), **_reply_fields(payload), **_sound_fields(payload), "media": items}


def build_edit_message(chat_key: str, payload: Mapping[str, Any], *, as_html: bool) -> dict[str, Any]:
    """Return the fields of editMessageText for a payload with `replaces`; buttons that it lacks are removed."""
    chat, _ = split_chat_key(chat_key)
    return {"chat_id": int(chat), "message_id": int(payload["replaces"]), **_text_fields(payload, as_html=as_html)}


def build_preview_payload(text: str, preview_message_id: str | None, reply_to_message_id: str | None) -> dict[str, Any]:
    """Return the payload of a preview: plain text, cut to one message, without notification."""
    text = break_app_urls(sanitize_text(text))
    end = find_fitting_end(text, 0, MAX_PREVIEW_LENGTH, utf16_length)
    plain = text if end == len(text) else text[: find_best_cut(text, 0, end)]
    payload: dict[str, Any] = {"plain": plain, "is_silent": True}
    if preview_message_id is not None:
        payload["replaces"] = preview_message_id
    if reply_to_message_id is not None:
        payload["reply_to"] = reply_to_message_id
    return payload


def build_answer_callback_query(press_id: str, text: str) -> dict[str, Any]:
    """Return the fields of answerCallbackQuery."""
    text = sanitize_text(text)
    return {
        "callback_query_id": press_id,
        "text": text[: find_fitting_end(text, 0, MAX_CALLBACK_TEXT_LENGTH, utf16_length)] or None,
    }


def build_send_chat_action(chat: str, thread: str | None) -> dict[str, Any]:
    """Return the fields of sendChatAction for the typing indicator."""
    return {"chat_id": int(chat), "action": "typing", **({"message_thread_id": int(thread)} if thread else {})}


def build_set_message_reaction(chat: str, message_id: str, emoji: str) -> dict[str, Any]:
    """Return the fields of setMessageReaction: a bot has at most one reaction to a message."""
    return {"chat_id": int(chat), "message_id": int(message_id), "reaction": [{"type": "emoji", "emoji": emoji}]}


def build_get_updates(offset: int | None, timeout_seconds: int) -> dict[str, Any]:
    """Return the fields of getUpdates; always with the update types, because Telegram remembers an earlier choice."""
    return {"offset": offset, "timeout": timeout_seconds, "limit": 100, "allowed_updates": list(ALLOWED_UPDATES)}


def build_set_webhook(url: str, secret: str) -> dict[str, Any]:
    """Return the fields of setWebhook: one connection preserves the order of a chat; pending updates are kept."""
    return {
        "url": url,
        "secret_token": secret,
        "max_connections": 1,
        "drop_pending_updates": False,
        "allowed_updates": list(ALLOWED_UPDATES),
    }


def build_set_my_commands() -> dict[str, Any]:
    """Return the fields of setMyCommands."""
    return {"commands": [{"command": name, "description": description} for name, description in BOT_COMMANDS]}


def _target_fields(key: str) -> dict[str, Any]:
    chat, thread = split_chat_key(key)
    in_topic = thread is not None and thread != GENERAL_TOPIC_ID
    return {"chat_id": int(chat), **({"message_thread_id": int(thread)} if thread is not None and in_topic else {})}


def _text_fields(payload: Mapping[str, Any], *, as_html: bool, mark: str = "") -> dict[str, Any]:
    fields: dict[str, Any] = {"link_preview_options": {"is_disabled": True}, **_keyboard_fields(payload)}
    if as_html and "html" in payload:
        fields |= {"text": mark + payload["html"], "parse_mode": "HTML"}
    else:
        fields["text"] = mark + payload["plain"]
    return fields


def _caption_fields(payload: Mapping[str, Any], *, as_html: bool, is_repeat: bool) -> dict[str, str]:
    mark = REPEAT_MARK if is_repeat else ""
    if as_html and payload.get("html"):
        return {"caption": mark + payload["html"], "parse_mode": "HTML"}
    caption = (mark + payload.get("plain", "")).strip()
    return {"caption": caption} if caption else {}


def _sound_fields(payload: Mapping[str, Any]) -> dict[str, Any]:
    return {"disable_notification": True} if payload.get("is_silent") else {}


def _reply_fields(payload: Mapping[str, Any]) -> dict[str, Any]:
    reply_to = payload.get("reply_to")
    if reply_to is None or int(reply_to) <= 0:  # a message that is sent with a delay has the id 0
        return {}
    return {"reply_parameters": {"message_id": int(reply_to), "allow_sending_without_reply": True}}


def _keyboard_fields(payload: Mapping[str, Any]) -> dict[str, Any]:
    keyboard = payload.get("keyboard")
    return {"reply_markup": {"inline_keyboard": keyboard}} if keyboard else {}
