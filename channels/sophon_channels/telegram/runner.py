"""Runner of a bot: initialization (identity, webhook, commands), then polling or webhook updates."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import urlsplit

from sophon.clock import Clock
from sophon_channels.backoff import backoff_delay
from sophon_channels.contract import ChannelHealth, Inbox
from sophon_channels.json_fields import JsonObject, get_text
from sophon_channels.telegram.api.client import TelegramClient, identity_from_user
from sophon_channels.telegram.api.errors import TelegramApiError
from sophon_channels.telegram.mentions import BotIdentity
from sophon_channels.telegram.parsing import parse_update
from sophon_channels.telegram.polling import UpdatePoller

log = logging.getLogger("sophon")

MAX_RETRY_SECONDS = 60.0
"""Maximum delay between two attempts to initialize."""
RESTART_SECONDS = 30.0
"""Delay before the runner restarts after an unexpected error."""


class TelegramRunner:
    """Runner of one Telegram channel. `webhook` is the URL and the secret to register, with "" as URL if the webhook is
    registered elsewhere; None polls. `mention_patterns` are words that mention the bot.
    """

    def __init__(
        self,
        client: TelegramClient,
        clock: Clock,
        health: ChannelHealth,
        inbox: Inbox,
        *,
        webhook: tuple[str, str] | None = None,
        mention_patterns: tuple[str, ...] = (),
    ) -> None:
        self._client, self._clock, self._health, self._inbox = client, clock, health, inbox
        self._webhook, self._mention_patterns = webhook, mention_patterns
        self._identity: BotIdentity | None = None
        self._failures = 0

    @property
    def is_ready(self) -> bool:
        """Whether the bot's identity is known; without it mentions are not recognized."""
        return self._identity is not None

    async def initialize(self) -> None:
        """Fetch the bot's identity, set or remove the webhook, and register the commands. Raises `TelegramApiError`."""
        bot = identity_from_user(await self._client.get_me())
        if self._webhook is None:
            await self._remove_webhook()
        elif self._webhook[0]:
            await self._client.set_webhook(*self._webhook)
        await self._register_commands()
        self._identity = replace(bot, patterns=self._mention_patterns)
        self._health.state, self._health.detail = "running", ""
        self._health.is_credential_rejected = False

    async def run(self) -> None:
        """Receive updates until cancelled, or until the token is rejected; restarts after an unexpected error."""
        while self._health.state != "refused":
            try:
                await self._receive()
            except Exception:
                log.exception("Telegram: unexpected error; the channel restarts in %d s", RESTART_SECONDS)
                self._health.state, self._health.detail = "failing", "internal error; see the host's log"
                await self._clock.sleep(RESTART_SECONDS)
            else:
                return

    async def handle_updates(self, updates: Sequence[JsonObject]) -> None:
        """Parse updates and pass the events to the inbox. Raises StoreError."""
        bot, now = self._identity, self._clock.now()
        events = [event for update in updates if bot for event in parse_update(update, bot, now)]
        if not events:
            return
        await self._inbox.receive(events)
        self._health.last_received_at = now
        self._health.counts["received"] = self._health.counts.get("received", 0) + len(events)

    async def _receive(self) -> None:
        while not self.is_ready:
            if not await self._try_initialize():
                return
        if self._webhook is None:
            await UpdatePoller(self._client, self._clock, self._health, self.handle_updates).run()

    async def _try_initialize(self) -> bool:
        """Make one attempt, and wait after a failure; return False if another attempt is pointless."""
        try:
            await self.initialize()
        except TelegramApiError as error:
            if error.is_token_error:
                self._health.state, self._health.detail = "refused", str(error)
                self._health.is_credential_rejected = True
                log.error("Telegram rejects the bot token: %s", error)  # noqa: TRY400 - no traceback
                return False
            self._failures += 1
            self._health.state, self._health.detail = "failing", str(error)
            log.warning("Telegram: %s", error)
            delay = max(backoff_delay(self._failures).total_seconds(), error.retry_after or 0)
            await self._clock.sleep(min(delay, MAX_RETRY_SECONDS) * (0.75 + self._clock.random() / 2))
        return True

    async def _remove_webhook(self) -> None:
        # While a webhook is set, getUpdates fails.
        url = get_text(await self._client.get_webhook_info(), "url")
        if url:
            log.warning("Telegram: removing the webhook at %s, because the mode is Polling", urlsplit(url).hostname)
            await self._client.delete_webhook()

    async def _register_commands(self) -> None:
        try:
            await self._client.set_commands()
        except TelegramApiError as error:
            log.warning("Telegram: the commands could not be registered: %s", error)
