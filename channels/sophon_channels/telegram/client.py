"""A bot as its host uses it: the few methods of the Bot API that this channel needs."""

from collections.abc import Mapping, Sequence
from typing import Any

from sophon_channels.disk import FileToSend
from sophon_channels.fields import Fields, as_fields, objects, text, whole
from sophon_channels.telegram import requests
from sophon_channels.telegram.failures import EDIT, Failure, is_not_editable, is_unchanged, is_unreadable
from sophon_channels.telegram.mentions import Identity
from sophon_channels.telegram.transport import Transport
from sophon_channels.telegram.uploads import send_file

POLL_SECONDS = 50
"""How long Telegram may hold a poll open when there is nothing new."""


class Client:
    """Each method is one call, or the two that belong together. All raise Failure."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def me(self) -> Fields:
        """The bot's own user: getMe."""
        return as_fields(await self._transport.call("getMe", {}))

    async def updates(self, offset: int | None) -> Sequence[Fields]:
        """What is new; an offset tells Telegram to forget all before it. Takes as long as `POLL_SECONDS`, or hangs."""
        result = await self._transport.call("getUpdates", requests.updates(offset, POLL_SECONDS), seconds=None)
        return objects({"updates": result}, "updates")

    async def deliver(self, key: str, payload: Mapping[str, Any], *, is_repeat: bool = False) -> str | None:
        """Send a payload, or edit the message that it replaces; the id of the message.

        An edit that changes nothing is made; one whose message is gone becomes a new message. HTML that Telegram cannot
        read is sent once more as plain text. Raises ChannelError, too, for a file that cannot be sent.
        """
        if (file := FileToSend.of(payload)) is not None:
            return _number(await send_file(self._transport, file, key, payload, is_repeat=is_repeat))
        if "replaces" not in payload:
            return await self._send(key, payload, is_repeat=is_repeat)
        try:
            await self._readable(EDIT, [requests.edit(key, payload, as_html=html) for html in (True, False)])
        except Failure as failure:
            if is_not_editable(failure):
                return await self._send(key, payload, is_repeat=is_repeat)
            if not is_unchanged(failure):
                raise
        return str(payload["replaces"])

    async def acknowledge(self, press_id: str, note: str) -> None:
        """End the progress bar on a button; with a note, or without."""
        await self._transport.call("answerCallbackQuery", requests.note(press_id, note))

    async def typing(self, chat: str, thread: str | None) -> None:
        """The typing sign: for five seconds, or until a message."""
        await self._transport.call("sendChatAction", requests.typing(chat, thread))

    async def set_commands(self) -> None:
        """What the app offers when somebody types `/`."""
        await self._transport.call("setMyCommands", requests.commands())

    async def webhook_info(self) -> Fields:
        """What Telegram knows of the webhook: getWebhookInfo."""
        return as_fields(await self._transport.call("getWebhookInfo", {}))

    async def set_webhook(self, url: str, secret: str) -> None:
        """Have updates sent here."""
        await self._transport.call("setWebhook", requests.webhook(url, secret))

    async def delete_webhook(self) -> None:
        """Have updates kept for polling; what is pending stays."""
        await self._transport.call("deleteWebhook", {"drop_pending_updates": False})

    async def file(self, file_id: str) -> Fields:
        """Where a file can be fetched, for an hour: getFile."""
        return as_fields(await self._transport.call("getFile", {"file_id": file_id}))

    async def close(self) -> None:
        """Let go of the connections; a later call opens new ones."""
        await self._transport.close()

    async def _send(self, key: str, payload: Mapping[str, Any], *, is_repeat: bool) -> str | None:
        tries = [requests.message(key, payload, as_html=html, is_repeat=is_repeat) for html in (True, False)]
        return _number(await self._readable("sendMessage", tries))

    async def _readable(self, method: str, tries: Sequence[Mapping[str, Any]]) -> Any:
        first, last = tries
        try:
            return await self._transport.call(method, first)
        except Failure as failure:
            if not is_unreadable(failure) or first == last:
                raise
        return await self._transport.call(method, last)


def identity(me: Fields) -> Identity:
    """Who the bot is, from `Client.me`."""
    return Identity(whole(me, "id") or 0, text(me, "username"))


def _number(message: object) -> str | None:
    number = whole(as_fields(message), "message_id")
    return None if number is None else str(number)
