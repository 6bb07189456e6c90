"""Telegram channel: one bot, connected by long polling or by webhook."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

from aiohttp import web

from sophon.clock import Clock
from sophon_channels.contract import (
    BeforeRequest,
    ButtonPress,
    ChannelAttachment,
    ChannelHealth,
    ChatLocation,
    FileReference,
    Inbox,
    OutboundMessage,
    SelfTestResult,
    SendPostponed,
    SendResult,
    before_no_request,
)
from sophon_channels.errors import ChannelError
from sophon_channels.json_fields import JsonObject
from sophon_channels.outbound_entry import OutboundEntry
from sophon_channels.outbound_file import find_size_problem
from sophon_channels.proxy import resolve_proxy
from sophon_channels.quiet_hours import QuietHours
from sophon_channels.telegram import rendering, self_test
from sophon_channels.telegram.api.albums import group_files
from sophon_channels.telegram.api.client import TelegramClient
from sophon_channels.telegram.api.downloads import download_attachment
from sophon_channels.telegram.api.errors import TelegramApiError
from sophon_channels.telegram.api.transport import BotApiTransport
from sophon_channels.telegram.api.uploads import find_max_upload_bytes
from sophon_channels.telegram.runner import TelegramRunner
from sophon_channels.telegram.sender import TelegramSender
from sophon_channels.telegram.settings import TelegramSettings
from sophon_channels.telegram.webhook import TelegramWebhook, is_valid_secret
from sophon_channels.webhook_body import WEBHOOKS

NOT_RUNNING_RETRY_AFTER = timedelta(seconds=1)
"""How long the host waits before it sends again; a host sends only after the start has ended."""

_TOKEN = re.compile(r"(?P<number>[0-9]{1,20}):[A-Za-z0-9_-]{3,100}")


class TelegramChannel:
    """`Channel` for one Telegram bot. `start` and `run_self_test` import aiogram, not this module.

    Several bots have different names, and webhooks at `/webhooks/NAME`; `webhook_url` is the public URL of that, for
    the mode Webhook; without it the webhook must be registered with Telegram elsewhere. `account` is the bot's numeric
    id, taken from its token.
    """

    supports_press_notes = True
    reports_delivery = False

    def __init__(
        self,
        settings: TelegramSettings,
        environment: Mapping[str, str],
        clock: Clock,
        *,
        name: str = "telegram",
        webhook_url: str | None = None,
    ) -> None:
        self.name = name
        self._settings, self._environment, self._clock = settings, environment, clock
        self._webhook_url = webhook_url
        window = settings.quiet_hours
        self._quiet_hours = None if window is None else QuietHours.parse(window, settings.quiet_time_zone)
        self.health = ChannelHealth()
        self._transport: BotApiTransport | None = None
        self._sender: TelegramSender | None = None
        self._runner: TelegramRunner | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def account(self) -> str:
        return resolve_account(self._settings, self._environment)

    @property
    def max_file_bytes(self) -> int:
        return find_max_upload_bytes(is_local=self._settings.local)

    async def start(self, inbox: Inbox) -> None:
        """Start the channel, as `Channel.start`. If Telegram is unreachable, it retries in the background."""
        try:
            webhook = self._webhook_settings()
            transport = await self._connect()
        except ChannelError as error:
            self.health.state, self.health.detail = "refused", str(error)
            raise
        self.health.state = "starting"
        client = TelegramClient(transport)
        self._transport = transport
        self._sender = TelegramSender(client, self._clock, self.health)
        self._runner = TelegramRunner(
            client,
            self._clock,
            self.health,
            inbox,
            webhook=webhook,
            mention_patterns=self._settings.mention_patterns,
        )
        await self._initialize_runner(self._runner)
        self._task = asyncio.create_task(self._runner.run(), name=self.name)

    async def stop(self) -> None:
        task, transport = self._task, self._transport
        self._task = self._transport = self._sender = self._runner = None
        if task is not None:
            task.cancel()
            await asyncio.wait((task,))
        if transport is not None:
            await transport.close()
        if self.health.state != "refused":
            self.health.state, self.health.detail = "stopped", ""

    def routes(self) -> Sequence[web.RouteDef]:
        """Return one POST route in the mode Webhook; it answers 503 while the channel is stopped."""
        if self._settings.mode != "Webhook":
            return ()
        try:
            secret = resolve_webhook_secret(self._settings, self._environment)
        except ChannelError:  # `start` reports it
            return ()
        path = f"{WEBHOOKS}{self.name}"
        return (web.post(path, TelegramWebhook(secret, self._handle_updates, self._is_ready, path).handle),)

    def render_payloads(self, message: OutboundMessage) -> list[dict[str, Any]]:
        return rendering.render_payloads(message)

    def find_file_problem(self, media_type: str, size: int) -> str:
        return find_size_problem(size, self.max_file_bytes)

    def group_files(self, files: Sequence[FileReference]) -> list[list[FileReference]]:
        return group_files(files, self.max_file_bytes)

    async def send(self, entry: OutboundEntry, before_request: BeforeRequest = before_no_request) -> SendResult:
        if self._sender is None:
            return SendPostponed(NOT_RUNNING_RETRY_AFTER, is_account_wide=True)
        if self._quiet_hours is not None and self._quiet_hours.covers(self._clock.now()):
            entry = replace(entry, payload={**entry.payload, "is_silent": True})
        return await self._sender.send(entry, before_request)

    async def acknowledge_press(self, press: ButtonPress, note: str) -> None:
        if self._sender is not None:
            await self._sender.acknowledge_press(press, note)

    async def send_typing(self, location: ChatLocation, message_id: str) -> None:
        if self._sender is not None:
            await self._sender.send_typing(location)

    async def send_reaction(self, location: ChatLocation, message_id: str, emoji: str) -> None:
        if self._sender is not None:
            await self._sender.send_reaction(location, message_id, emoji)

    async def update_preview(
        self, location: ChatLocation, text: str, preview_message_id: str | None, reply_to_message_id: str | None
    ) -> str | None:
        return (
            preview_message_id
            if self._sender is None
            else await self._sender.update_preview(location, text, preview_message_id, reply_to_message_id)
        )

    async def delete_message(self, location: ChatLocation, message_id: str) -> None:
        if self._sender is not None:
            await self._sender.delete_message(location, message_id)

    async def download_attachment(self, attachment: ChannelAttachment, target: str, *, max_bytes: int) -> int:
        running = self._transport
        transport = running or await self._connect()
        try:
            return await download_attachment(TelegramClient(transport), transport, attachment, target, max_bytes)
        finally:
            if running is None:
                await transport.close()

    async def run_self_test(self) -> list[SelfTestResult]:
        """Check the configuration with getMe and getWebhookInfo, which change nothing; the channel may run or not."""
        try:
            self._webhook_settings()
            transport = await self._connect()
        except ChannelError as error:
            return [SelfTestResult(False, str(error))]
        try:
            return await self._run_checks(TelegramClient(transport))
        finally:
            await transport.close()

    async def _run_checks(self, client: TelegramClient) -> list[SelfTestResult]:
        mode, policy, path = self._settings.mode, self._settings.group_policy, f"{WEBHOOKS}{self.name}"
        expected = self_test.ExpectedSetup(
            mode, policy, self._webhook_url, path, has_mention_patterns=bool(self._settings.mention_patterns)
        )
        try:
            results = list(self_test.check_bot(await client.get_me(), expected))
            return [*results, *self_test.check_webhook(await client.get_webhook_info(), expected)]
        except TelegramApiError as error:
            return [self_test.result_from_error(error, describe_token_origin(self._settings))]

    def _webhook_settings(self) -> tuple[str, str] | None:
        if self._settings.mode != "Webhook":
            return None
        return self._webhook_url or "", resolve_webhook_secret(self._settings, self._environment)

    async def _connect(self) -> BotApiTransport:
        token = resolve_bot_token(self._settings, self._environment)
        base = self._settings.api_base
        proxy = resolve_proxy(self._settings.proxy, self._environment, "Telegram", socks_package="aiohttp_socks")
        return await self._clock.run_in_thread(
            partial(
                BotApiTransport,
                token,
                str(base) if base else None,
                self._clock,
                proxy,
                is_local=self._settings.local,
            )
        )

    async def _initialize_runner(self, runner: TelegramRunner) -> None:
        try:
            await runner.initialize()
        except TelegramApiError as error:
            if error.is_token_error:
                await self.stop()
                self.health.state, self.health.detail = "refused", str(error)
                self.health.is_credential_rejected = True
                origin = describe_token_origin(self._settings)
                raise ChannelError(
                    f"Telegram rejects the bot token ({error}); copy it from @BotFather again into {origin}"
                ) from None
            self.health.state, self.health.detail = "failing", str(error)

    def _is_ready(self) -> bool:
        return self._runner is not None and self._runner.is_ready

    async def _handle_updates(self, updates: Sequence[JsonObject]) -> None:
        if self._runner is not None:
            await self._runner.handle_updates(updates)


def resolve_bot_token(settings: TelegramSettings, environment: Mapping[str, str]) -> str:
    """Return the bot token. Raises ChannelError if it is missing or malformed."""
    token = settings.token.resolve(environment) if settings.token else None
    origin = describe_token_origin(settings)
    if not token:
        raise ChannelError(f"Telegram has no token: {origin} is empty; set it to the token from @BotFather")
    if not _TOKEN.fullmatch(token):
        raise ChannelError(
            f"the value in {origin} is not a Telegram token; one looks like 123456:ABC, copy it from @BotFather again"
        )
    return token


def describe_token_origin(settings: TelegramSettings) -> str:
    """Return where the token is configured, for messages."""
    return settings.token.source_description if settings.token else "Channels.Telegram.Token"


def resolve_account(settings: TelegramSettings, environment: Mapping[str, str]) -> str:
    """Return the bot's numeric id, which is the first part of its token; "" without a valid token."""
    token = (settings.token.resolve(environment) if settings.token else None) or ""
    match = _TOKEN.fullmatch(token)
    return match["number"] if match else ""


def resolve_webhook_secret(settings: TelegramSettings, environment: Mapping[str, str]) -> str:
    """Return the webhook secret. Raises ChannelError if it is missing or Telegram would reject it."""
    secret = settings.webhook_secret.resolve(environment) if settings.webhook_secret else None
    if not secret:
        raise ChannelError(
            "the Telegram webhook has no secret, and without one anyone could send messages as anyone; "
            "set Channels.Telegram.WebhookSecret to 1-256 characters of A-Z, a-z, 0-9, _ and -"
        )
    if not is_valid_secret(secret):
        raise ChannelError(
            "Channels.Telegram.WebhookSecret has characters that Telegram rejects, or more than 256; "
            "allowed are A-Z, a-z, 0-9, _ and -"
        )
    return secret
