"""The Telegram channel: one bot, by long polling or by webhook."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Any

from aiohttp import web

from sophon.clock import Clock
from sophon.settings import TelegramSettings
from sophon.stores.outbound_contracts import OutboundEntry
from sophon_channels.contract import Attachment, Finding, Health, Inbox, Outgoing, Place, Pressed, Receipt, Refused
from sophon_channels.errors import ChannelError
from sophon_channels.fields import Fields
from sophon_channels.telegram import access, checks, render
from sophon_channels.telegram.client import Client
from sophon_channels.telegram.downloads import download
from sophon_channels.telegram.failures import Failure
from sophon_channels.telegram.listening import Listener
from sophon_channels.telegram.sending import Sender
from sophon_channels.telegram.transport import Transport
from sophon_channels.telegram.uploads import LARGEST
from sophon_channels.telegram.webhook import PATH, Webhook

NOT_STARTED = "the channel does not run"
NOT_STARTED_PAUSE = timedelta(minutes=1)


class TelegramChannel:
    """One bot; implements `Channel`. aiogram is imported by `start` and `test`, not with this module.

    `webhook_url` is the public address of `/webhooks/telegram`, in the mode Webhook; without it somebody else has to
    tell Telegram. `account` is the bot's number, known from its token.
    """

    def __init__(
        self,
        settings: TelegramSettings,
        environment: Mapping[str, str],
        clock: Clock,
        *,
        webhook_url: str | None = None,
    ) -> None:
        self._settings, self._environment, self._clock = settings, environment, clock
        self._webhook_url = webhook_url
        self._health = Health()
        self._transport: Transport | None = None
        self._sender: Sender | None = None
        self._listener: Listener | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def name(self) -> str:
        return "telegram"

    @property
    def account(self) -> str:
        return access.account_of(self._settings, self._environment)

    @property
    def notes_presses(self) -> bool:
        return True

    @property
    def health(self) -> Health:
        return self._health

    @property
    def largest_file(self) -> int:
        return LARGEST

    async def start(self, inbox: Inbox) -> None:
        """As `Channel.start`. Where Telegram cannot be reached now, it goes on trying in the background."""
        try:
            webhook = self._webhook()
            transport = await self._connect()
        except ChannelError as error:
            self._health.state, self._health.detail = "refused", str(error)
            raise
        self._health.state = "starting"
        client = Client(transport)
        self._transport = transport
        self._sender = Sender(client, self._clock, self._health)
        self._listener = Listener(client, self._clock, self._health, inbox, webhook=webhook)
        await self._introduce(self._listener)
        self._task = asyncio.create_task(self._listener.run(), name="telegram")

    async def stop(self) -> None:
        task, transport = self._task, self._transport
        self._task = self._transport = self._sender = self._listener = None
        if task is not None:
            task.cancel()
            await asyncio.wait((task,))
        if transport is not None:
            await transport.close()
        if self._health.state != "refused":
            self._health.state, self._health.detail = "stopped", ""

    def routes(self) -> Sequence[web.RouteDef]:
        """One POST in the mode Webhook; while the channel is stopped it answers 503."""
        if self._settings.mode != "Webhook":
            return ()
        try:
            secret = access.webhook_secret(self._settings, self._environment)
        except ChannelError:  # `start` says why
            return ()
        return (web.post(PATH, Webhook(secret, self._take, self._is_ready).handle),)

    def parts(self, outgoing: Outgoing) -> list[dict[str, Any]]:
        return render.payloads(outgoing)

    async def send(self, entry: OutboundEntry) -> Receipt:
        if self._sender is None:
            return Refused(NOT_STARTED, NOT_STARTED_PAUSE, everywhere=True)
        return await self._sender.send(entry)

    async def acknowledge(self, press: Pressed, note: str) -> None:
        if self._sender is not None:
            await self._sender.acknowledge(press, note)

    async def busy(self, place: Place, message_id: str) -> None:
        if self._sender is not None:
            await self._sender.busy(place)

    async def progress(self, place: Place, text: str, shown: str | None, reply_to: str | None) -> str | None:
        return shown if self._sender is None else await self._sender.progress(place, text, shown, reply_to)

    async def fetch(self, attachment: Attachment, target: str, *, limit: int) -> int:
        if self._transport is None:
            raise ChannelError(f"a file of Telegram cannot be fetched: {NOT_STARTED}")
        return await download(Client(self._transport), self._transport, attachment, target, limit)

    async def test(self) -> list[Finding]:
        """Asks getMe and getWebhookInfo, and changes nothing; the channel may run meanwhile or not."""
        try:
            self._webhook()
            transport = await self._connect()
        except ChannelError as error:
            return [Finding(False, str(error))]
        try:
            return await self._findings(Client(transport))
        finally:
            await transport.close()

    async def _findings(self, client: Client) -> list[Finding]:
        wanted = checks.Wanted(self._settings.mode, self._settings.group_policy, self._webhook_url)
        try:
            found = list(checks.of_bot(await client.me(), wanted))
            return [*found, *checks.of_webhook(await client.webhook_info(), wanted)]
        except Failure as failure:
            return [checks.unreachable(failure, access.token_origin(self._settings))]

    def _webhook(self) -> tuple[str, str] | None:
        if self._settings.mode != "Webhook":
            return None
        return self._webhook_url or "", access.webhook_secret(self._settings, self._environment)

    async def _connect(self) -> Transport:
        token = access.bot_token(self._settings, self._environment)
        base = self._settings.api_base
        return await self._clock.in_thread(partial(Transport, token, str(base) if base else None, self._clock))

    async def _introduce(self, listener: Listener) -> None:
        try:
            await listener.introduce()
        except Failure as failure:
            if failure.refuses_token:
                await self.stop()
                self._health.state, self._health.detail = "refused", str(failure)
                origin = access.token_origin(self._settings)
                raise ChannelError(
                    f"Telegram does not know the bot's token ({failure}); copy it from @BotFather again into {origin}"
                ) from None
            self._health.state, self._health.detail = "failing", str(failure)

    def _is_ready(self) -> bool:
        return self._listener is not None and self._listener.is_ready

    async def _take(self, updates: Sequence[Fields]) -> None:
        if self._listener is not None:
            await self._listener.take(updates)
