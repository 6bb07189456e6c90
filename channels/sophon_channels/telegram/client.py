"""Bot API client: the methods that the Telegram channel needs."""

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
"""How long Telegram may hold a getUpdates call open if there is nothing new."""


class Client:
    """Bot API client. Each method makes one call, or two that belong together, and raises `Failure`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def me(self) -> Fields:
        """Return the bot's own user (getMe)."""
        return as_fields(await self._transport.call("getMe", {}))

    async def updates(self, offset: int | None) -> Sequence[Fields]:
        """Return new updates (getUpdates). The offset confirms all updates before it. Returns after at most
        `POLL_SECONDS`; has no timeout of its own.
        """
        result = await self._transport.call("getUpdates", requests.updates(offset, POLL_SECONDS), seconds=None)
        return objects({"updates": result}, "updates")

    async def deliver(self, key: str, payload: Mapping[str, Any], *, is_repeat: bool = False) -> str | None:
        """Send a payload, or edit the message that it replaces; return the message id.

        An edit that changes nothing succeeds; if the message to edit is gone, a new message is sent. If Telegram cannot
        parse the HTML, the plain text is sent. Also raises ChannelError, for a file that cannot be sent.
        """
        if (file := FileToSend.of(payload)) is not None:
            return _message_id(await send_file(self._transport, file, key, payload, is_repeat=is_repeat))
        if "replaces" not in payload:
            return await self._send_message(key, payload, is_repeat=is_repeat)
        try:
            await self._call_with_plain_fallback(
                EDIT, [requests.edit(key, payload, as_html=html) for html in (True, False)]
            )
        except Failure as error:
            if is_not_editable(error):
                return await self._send_message(key, payload, is_repeat=is_repeat)
            if not is_unchanged(error):
                raise
        return str(payload["replaces"])

    async def acknowledge(self, press_id: str, note: str) -> None:
        """End the progress bar on a button (answerCallbackQuery); an empty note shows none."""
        await self._transport.call("answerCallbackQuery", requests.note(press_id, note))

    async def typing(self, chat: str, thread: str | None) -> None:
        """Show the typing indicator (sendChatAction): for five seconds, or until the next message."""
        await self._transport.call("sendChatAction", requests.typing(chat, thread))

    async def set_commands(self) -> None:
        """Register the commands that the app suggests for `/` (setMyCommands)."""
        await self._transport.call("setMyCommands", requests.commands())

    async def webhook_info(self) -> Fields:
        """Return the state of the webhook (getWebhookInfo)."""
        return as_fields(await self._transport.call("getWebhookInfo", {}))

    async def set_webhook(self, url: str, secret: str) -> None:
        """Register the webhook (setWebhook)."""
        await self._transport.call("setWebhook", requests.webhook(url, secret))

    async def delete_webhook(self) -> None:
        """Remove the webhook, so that updates can be polled; pending updates are kept."""
        await self._transport.call("deleteWebhook", {"drop_pending_updates": False})

    async def file(self, file_id: str) -> Fields:
        """Return the download path of a file (getFile); valid for an hour."""
        return as_fields(await self._transport.call("getFile", {"file_id": file_id}))

    async def close(self) -> None:
        """Close the connections; a later call opens new ones."""
        await self._transport.close()

    async def _send_message(self, key: str, payload: Mapping[str, Any], *, is_repeat: bool) -> str | None:
        variants = [requests.message(key, payload, as_html=html, is_repeat=is_repeat) for html in (True, False)]
        return _message_id(await self._call_with_plain_fallback("sendMessage", variants))

    async def _call_with_plain_fallback(self, method: str, variants: Sequence[Mapping[str, Any]]) -> Any:
        with_html, as_plain = variants
        try:
            return await self._transport.call(method, with_html)
        except Failure as error:
            if not is_unreadable(error) or with_html == as_plain:
                raise
        return await self._transport.call(method, as_plain)


def identity(me: Fields) -> Identity:
    """Return the bot's identity from the user that `Client.me` returns."""
    return Identity(whole(me, "id") or 0, text(me, "username"))


def _message_id(message: object) -> str | None:
    number = whole(as_fields(message), "message_id")
    return None if number is None else str(number)
