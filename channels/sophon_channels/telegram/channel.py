"""Telegram channel: one bot, connected by long polling or by webhook."""

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

NOT_STARTED = "the channel is not running"
"""Error of every operation while the channel is stopped."""
NOT_STARTED_PAUSE = timedelta(minutes=1)
"""How long the host waits before it sends again."""


class TelegramChannel:
    """`Channel` for one Telegram bot. `start` and `test` import aiogram, not this module.

    `webhook_url` is the public URL of `/webhooks/telegram`, for the mode Webhook; without it the webhook must be
    registered with Telegram elsewhere. `account` is the bot's numeric id, taken from its token.
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
        self._runner: Listener | None = None
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
        """Start the channel, as `Channel.start`. If Telegram is unreachable, it retries in the background."""
        try:
            webhook = self._webhook_settings()
            transport = await self._connect()
        except ChannelError as error:
            self._health.state, self._health.detail = "refused", str(error)
            raise
        self._health.state = "starting"
        client = Client(transport)
        self._transport = transport
        self._sender = Sender(client, self._clock, self._health)
        self._runner = Listener(client, self._clock, self._health, inbox, webhook=webhook)
        await self._initialize_runner(self._runner)
        self._task = asyncio.create_task(self._runner.run(), name="telegram")

    async def stop(self) -> None:
        task, transport = self._task, self._transport
        self._task = self._transport = self._sender = self._runner = None
        if task is not None:
            task.cancel()
            await asyncio.wait((task,))
        if transport is not None:
            await transport.close()
        if self._health.state != "refused":
            self._health.state, self._health.detail = "stopped", ""

    def routes(self) -> Sequence[web.RouteDef]:
        """Return one POST route in the mode Webhook; it answers 503 while the channel is stopped."""
        if self._settings.mode != "Webhook":
            return ()
        try:
            secret = access.webhook_secret(self._settings, self._environment)
        except ChannelError:  # `start` reports it
            return ()
        return (web.post(PATH, Webhook(secret, self._handle_updates, self._is_ready).handle),)

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
            raise ChannelError(f"the file cannot be downloaded from Telegram: {NOT_STARTED}")
        return await download(Client(self._transport), self._transport, attachment, target, limit)

    async def test(self) -> list[Finding]:
        """Check the configuration with getMe and getWebhookInfo, which change nothing; the channel may run or not."""
        try:
            self._webhook_settings()
            transport = await self._connect()
        except ChannelError as error:
            return [Finding(False, str(error))]
        try:
            return await self._run_checks(Client(transport))
        finally:
            await transport.close()

    async def _run_checks(self, client: Client) -> list[Finding]:
        expected = checks.Wanted(self._settings.mode, self._settings.group_policy, self._webhook_url)
        try:
            results = list(checks.of_bot(await client.me(), expected))
            return [*results, *checks.of_webhook(await client.webhook_info(), expected)]
        except Failure as error:
            return [checks.unreachable(error, access.token_origin(self._settings))]

    def _webhook_settings(self) -> tuple[str, str] | None:
        if self._settings.mode != "Webhook":
            return None
        return self._webhook_url or "", access.webhook_secret(self._settings, self._environment)

    async def _connect(self) -> Transport:
        token = access.bot_token(self._settings, self._environment)
        base = self._settings.api_base
        return await self._clock.in_thread(partial(Transport, token, str(base) if base else None, self._clock))

    async def _initialize_runner(self, runner: Listener) -> None:
        try:
            await runner.introduce()
        except Failure as error:
            if error.refuses_token:
                await self.stop()
                self._health.state, self._health.detail = "refused", str(error)
                origin = access.token_origin(self._settings)
                raise ChannelError(
                    f"Telegram rejects the bot token ({error}); copy it from @BotFather again into {origin}"
                ) from None
            self._health.state, self._health.detail = "failing", str(error)

    def _is_ready(self) -> bool:
        return self._runner is not None and self._runner.is_ready

    async def _handle_updates(self, updates: Sequence[Fields]) -> None:
        if self._runner is not None:
            await self._runner.take(updates)
