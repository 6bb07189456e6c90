"""Bot API client: the methods that the Telegram channel needs."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

from sophon_channels.json_fields import JsonObject, get_int, get_objects, get_text, object_from_json
from sophon_channels.outbound_file import OutboundFile
from sophon_channels.sent_files import SentFiles
from sophon_channels.telegram.api import request_bodies
from sophon_channels.telegram.api.albums import send_album
from sophon_channels.telegram.api.errors import (
    EDIT_METHOD,
    TelegramApiError,
    is_empty_text,
    is_not_editable,
    is_not_modified,
    is_parse_error,
    is_topic_gone,
)
from sophon_channels.telegram.api.transport import BotApiTransport
from sophon_channels.telegram.api.uploads import FILE_ID_LIFETIME, upload_file
from sophon_channels.telegram.mentions import BotIdentity
from sophon_channels.telegram.rendering import MAX_CAPTION_LENGTH, REPEAT_MARK, TEXT_LIMIT, TOPIC_MARK
from sophon_channels.text.utf16 import utf16_length

POLL_TIMEOUT_SECONDS = 50
"""How long Telegram may hold a getUpdates call open if there is nothing new."""

NO_VISIBLE_TEXT = "(This message had no visible text.)"
"""Text that is sent instead of one in which Telegram sees nothing."""

MAX_REDIRECTED_MESSAGES = 1000
"""Number of redirected messages that are remembered, so that an edit keeps the mark."""


class TelegramClient:
    """Bot API client. Each method makes one call, or two that belong together, and raises `TelegramApiError`."""

    def __init__(self, transport: BotApiTransport) -> None:
        self._transport = transport
        self._redirected = RedirectedMessages()
        self._sent_files = SentFiles(transport.clock, FILE_ID_LIFETIME)

    async def get_me(self) -> JsonObject:
        """Return the bot's own user (getMe)."""
        return object_from_json(await self._transport.call("getMe", {}))

    async def get_updates(self, offset: int | None) -> Sequence[JsonObject]:
        """Return new updates (getUpdates). The offset confirms all updates before it. Returns after at most
        `POLL_TIMEOUT_SECONDS`; has no timeout of its own.
        """
        result = await self._transport.call(
            "getUpdates", request_bodies.build_get_updates(offset, POLL_TIMEOUT_SECONDS), timeout_seconds=None
        )
        return get_objects({"updates": result}, "updates")

    async def send_or_edit(self, chat_key: str, payload: Mapping[str, Any], *, is_repeat: bool = False) -> str | None:
        """Send a payload, or edit the message that it replaces; return the message id.

        An edit that changes nothing succeeds; if the message to edit is gone, a new message is sent. If the topic is
        gone, it is sent to the chat. If Telegram cannot parse the HTML, the plain text is sent; if it sees nothing in
        the text, a sentence that says so. Also raises
        ChannelError, for a file that cannot be sent.
        """
        if "replaces" not in payload:
            return await self._send_to_topic(chat_key, payload, is_repeat=is_repeat)
        chat, _ = request_bodies.split_chat_key(chat_key)
        topic = self._redirected.find_topic(chat, str(payload["replaces"]))
        edited = payload if topic is None else redirect_to_chat(payload, topic)
        try:
            await self._call_with_plain_fallback(
                EDIT_METHOD,
                [request_bodies.build_edit_message(chat_key, edited, as_html=html) for html in (True, False)],
            )
        except TelegramApiError as error:
            if is_not_editable(error) or is_topic_gone(error):
                return await self._send_to_topic(chat_key, payload, is_repeat=is_repeat)
            if not is_not_modified(error):
                raise
        return str(payload["replaces"])

    async def answer_callback_query(self, press_id: str, text: str) -> None:
        """End the progress bar on a button (answerCallbackQuery); an empty note shows none."""
        await self._transport.call("answerCallbackQuery", request_bodies.build_answer_callback_query(press_id, text))

    async def send_typing(self, chat: str, thread: str | None) -> None:
        """Show the typing indicator (sendChatAction): for five seconds, or until the next message."""
        await self._transport.call("sendChatAction", request_bodies.build_send_chat_action(chat, thread))

    async def set_reaction(self, chat: str, message_id: str, emoji: str) -> None:
        """React to a message (setMessageReaction); replaces the bot's earlier reaction."""
        body = request_bodies.build_set_message_reaction(chat, message_id, emoji)
        await self._transport.call("setMessageReaction", body)

    async def delete_message(self, chat: str, message_id: str) -> None:
        """Delete a message (deleteMessage): one of the bot's own for 48 hours."""
        await self._transport.call("deleteMessage", {"chat_id": int(chat), "message_id": int(message_id)})

    async def set_commands(self) -> None:
        """Register the commands that the app suggests for `/` (setMyCommands)."""
        await self._transport.call("setMyCommands", request_bodies.build_set_my_commands())

    async def get_webhook_info(self) -> JsonObject:
        """Return the state of the webhook (getWebhookInfo)."""
        return object_from_json(await self._transport.call("getWebhookInfo", {}))

    async def set_webhook(self, url: str, secret: str) -> None:
        """Register the webhook (setWebhook)."""
        await self._transport.call("setWebhook", request_bodies.build_set_webhook(url, secret))

    async def delete_webhook(self) -> None:
        """Remove the webhook, so that updates can be polled; pending updates are kept."""
        await self._transport.call("deleteWebhook", {"drop_pending_updates": False})

    async def get_file(self, file_id: str) -> JsonObject:
        """Return the download path of a file (getFile); valid for an hour."""
        return object_from_json(await self._transport.call("getFile", {"file_id": file_id}))

    async def close(self) -> None:
        """Close the connections; a later call opens new ones."""
        await self._transport.close()

    async def _send_to_topic(self, chat_key: str, payload: Mapping[str, Any], *, is_repeat: bool) -> str | None:
        """Send a payload; if its topic is closed or deleted, to the chat itself."""
        try:
            return await self._send_new(chat_key, payload, is_repeat=is_repeat)
        except TelegramApiError as error:
            chat, topic = request_bodies.split_chat_key(chat_key)
            if topic is None or not is_topic_gone(error):
                raise
        message_id = await self._send_new(chat, redirect_to_chat(payload, topic), is_repeat=is_repeat)
        self._redirected.record(chat, message_id, topic)
        return message_id

    async def _send_new(self, chat_key: str, payload: Mapping[str, Any], *, is_repeat: bool) -> str | None:
        if album := OutboundFile.album_from_payload(payload):
            messages = await send_album(
                self._transport, album, chat_key, payload, is_repeat=is_repeat, sent_files=self._sent_files
            )
            return _message_id(messages[0]) if messages else None
        if (file := OutboundFile.from_payload(payload)) is not None:
            message = await upload_file(
                self._transport, file, chat_key, payload, is_repeat=is_repeat, sent_files=self._sent_files
            )
            return _message_id(message)
        return await self._send_message(chat_key, payload, is_repeat=is_repeat)

    async def _send_message(self, key: str, payload: Mapping[str, Any], *, is_repeat: bool) -> str | None:
        variants = [
            request_bodies.build_send_message(key, payload, as_html=html, is_repeat=is_repeat) for html in (True, False)
        ]
        return _message_id(await self._call_with_plain_fallback("sendMessage", variants))

    async def _call_with_plain_fallback(self, method: str, variants: Sequence[Mapping[str, Any]]) -> Any:
        with_html, as_plain = variants
        try:
            return await self._transport.call(method, with_html)
        except TelegramApiError as error:
            if is_empty_text(error):
                as_plain = {**as_plain, "text": NO_VISIBLE_TEXT}
            elif not is_parse_error(error) or with_html == as_plain:
                raise
        return await self._transport.call(method, as_plain)


def identity_from_user(user: JsonObject) -> BotIdentity:
    """Return the bot's identity from the user that `TelegramClient.get_me` returns."""
    return BotIdentity(get_int(user, "id") or 0, get_text(user, "username"))


def _message_id(message: object) -> str | None:
    number = get_int(object_from_json(message), "message_id")
    return None if number is None else str(number)


def redirect_to_chat(payload: Mapping[str, Any], topic: str) -> dict[str, Any]:
    """Return the payload for the chat itself: with a first line that names the topic, without the reply. Pure.

    A part without space for the line is sent without it.

    Telegram refuses to send to a deleted topic, and to one that is
    closed.
    """
    redirected = {key: value for key, value in payload.items() if key != "reply_to"}
    mark, plain = TOPIC_MARK.format(topic=topic), str(payload.get("plain", ""))
    limit = MAX_CAPTION_LENGTH if "file" in payload else TEXT_LIMIT
    if utf16_length(mark + plain + REPEAT_MARK) > limit:
        return redirected
    redirected["plain"] = mark + plain
    if payload.get("html"):
        redirected["html"] = mark + payload["html"]
    return redirected


class RedirectedMessages:
    """The topics of the messages that were sent to the chat instead; the newest are remembered."""

    def __init__(self) -> None:
        self._topics: OrderedDict[tuple[str, str], str] = OrderedDict()

    def record(self, chat: str, message_id: str | None, topic: str) -> None:
        """Record a redirected message."""
        if message_id is not None:
            self._topics[chat, message_id] = topic
            while len(self._topics) > MAX_REDIRECTED_MESSAGES:
                self._topics.popitem(last=False)

    def find_topic(self, chat: str, message_id: str) -> str | None:
        """Return the topic for which the message was; None if it was not redirected, as far as is remembered."""
        return self._topics.get((chat, message_id))
