"""How a bot begins to hear and goes on hearing: who it is, its commands, then polls or a webhook."""

import logging
from collections.abc import Sequence
from urllib.parse import urlsplit

from sophon.clock import Clock
from sophon_channels.contract import Health, Inbox
from sophon_channels.fields import Fields, text
from sophon_channels.telegram.client import Client, identity
from sophon_channels.telegram.failures import Failure, backoff
from sophon_channels.telegram.mentions import Identity
from sophon_channels.telegram.parse import arrivals
from sophon_channels.telegram.polling import Poller

log = logging.getLogger("sophon")

LONGEST_PAUSE_SECONDS = 60.0
CRASH_SECONDS = 30.0


class Listener:
    """Hears for one channel. `webhook` is the address and the secret to have updates sent to, "" for an address that
    somebody else sets; None polls.
    """

    def __init__(
        self, client: Client, clock: Clock, health: Health, inbox: Inbox, *, webhook: tuple[str, str] | None = None
    ) -> None:
        self._client, self._clock, self._health, self._inbox = client, clock, health, inbox
        self._webhook = webhook
        self._identity: Identity | None = None
        self._failures = 0

    @property
    def is_ready(self) -> bool:
        """Whether the bot knows its name, without which it does not recognise a mention."""
        return self._identity is not None

    async def introduce(self) -> None:
        """Ask who the bot is, and set it up. Raises Failure."""
        found = identity(await self._client.me())
        if self._webhook is None:
            await self._leave_webhook()
        elif self._webhook[0]:
            await self._client.set_webhook(*self._webhook)
        await self._register_commands()
        self._identity = found
        self._health.state, self._health.detail = "running", ""

    async def run(self) -> None:
        """Hear until cancelled, or until the token is refused; an error of ours is told, and it begins anew."""
        while self._health.state != "refused":
            try:
                await self._run()
            except Exception:
                log.exception("Telegram: the channel failed, and begins anew in %d s", CRASH_SECONDS)
                self._health.state, self._health.detail = "failing", "an error of the host; its log tells more"
                await self._clock.sleep(CRASH_SECONDS)
            else:
                return

    async def take(self, updates: Sequence[Fields]) -> None:
        """Keep what updates tell. Raises StoreError."""
        bot, now = self._identity, self._clock.now()
        found = [arrival for update in updates if bot for arrival in arrivals(update, bot, now)]
        if not found:
            return
        await self._inbox.receive(found)
        self._health.last_arrival = now
        self._health.counts["received"] = self._health.counts.get("received", 0) + len(found)

    async def _run(self) -> None:
        while not self.is_ready:
            if not await self._introduced():
                return
        if self._webhook is None:
            await Poller(self._client, self._clock, self._health, self.take).run()

    async def _introduced(self) -> bool:
        """Try once, and wait after a failure; False where another try makes no sense."""
        try:
            await self.introduce()
        except Failure as failure:
            if failure.refuses_token:
                self._health.state, self._health.detail = "refused", str(failure)
                log.error("Telegram refuses the bot's token: %s", failure)  # noqa: TRY400 - a sentence, not a trace
                return False
            self._failures += 1
            self._health.state, self._health.detail = "failing", str(failure)
            log.warning("Telegram: %s", failure)
            pause = max(backoff(self._failures).total_seconds(), failure.retry_after or 0)
            await self._clock.sleep(min(pause, LONGEST_PAUSE_SECONDS) * (0.75 + self._clock.random() / 2))
        return True

    async def _leave_webhook(self) -> None:
        """Nothing can be fetched while a webhook is set."""
        url = text(await self._client.webhook_info(), "url")
        if url:
            log.warning("Telegram: the webhook at %s is removed, since the mode is Polling", urlsplit(url).hostname)
            await self._client.delete_webhook()

    async def _register_commands(self) -> None:
        try:
            await self._client.set_commands()
        except Failure as failure:
            log.warning("Telegram: the commands could not be registered: %s", failure)
