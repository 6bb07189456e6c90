"""Sending through the rate limiter: one Bot API call per payload, and its send result."""

import logging
from datetime import timedelta

from sophon.clock import Clock
from sophon.stores.outbound_contracts import OutboundEntry
from sophon_channels.contract import Health, Place, Pressed, Receipt, Refused, Sent, Undeliverable
from sophon_channels.errors import ChannelError
from sophon_channels.telegram import requests
from sophon_channels.telegram.client import Client
from sophon_channels.telegram.failures import Failure, receipt
from sophon_channels.telegram.rate import GO, Gate

log = logging.getLogger("sophon")


class Sender:
    """Sender of one bot. No method waits for a limit; errors of the platform and the network are not raised."""

    def __init__(self, client: Client, clock: Clock, health: Health) -> None:
        self._client, self._health = client, health
        self.gate = Gate(clock)

    async def send(self, entry: OutboundEntry) -> Receipt:
        """Send one entry, as `Channel.send`."""
        chat, thread = requests.chat_and_thread(entry.chat)
        delay = self.gate.final(chat)
        if delay.time > GO:
            return Refused("delayed by the rate limit of Telegram", delay.time, delay.everywhere)
        try:
            platform_id = await self._client.deliver(entry.chat, entry.payload, is_repeat=entry.doubtful)
        except Failure as api_error:
            return self._result_of_failure(api_error, entry.attempts, chat, thread)
        except ChannelError as error:
            return Undeliverable(str(error))
        except (KeyError, TypeError, ValueError) as error:
            return Undeliverable(f"the payload is not a valid Telegram message: {type(error).__name__}")
        self._count("sent")
        return Sent(platform_id)

    async def progress(self, place: Place, text: str, shown: str | None, reply_to: str | None) -> str | None:
        """Update the preview, as `Channel.progress`."""
        if not text.strip() or not self.gate.progress(place.chat):
            return shown
        try:
            return await self._client.deliver(place.key, requests.progress(text, shown, reply_to))
        except Failure as error:
            self._log_failure(error, place.chat)
            return shown

    async def busy(self, place: Place) -> None:
        """Show the typing indicator, as `Channel.busy`."""
        if not self.gate.typing(place.chat):
            return
        try:
            await self._client.typing(place.chat, place.thread)
        except Failure as error:
            self._log_failure(error, place.chat)

    async def acknowledge(self, press: Pressed, note: str) -> None:
        """Acknowledge a press, as `Channel.acknowledge`; never skipped: until then the button shows a progress bar."""
        try:
            await self._client.acknowledge(press.press_id, note)
        except Failure as error:
            self._log_failure(error, press.place.chat)

    def _result_of_failure(self, error: Failure, attempts: int, chat: str, thread: str | None) -> Receipt:
        self._count("failed")
        if error.status == 429:
            delay = self.gate.refused(chat, timedelta(seconds=error.retry_after or 1))
            return Refused(str(error), delay.time, delay.everywhere)
        if error.status == 401:
            self._health.state, self._health.detail = "refused", str(error)
        return receipt(error, attempts, thread)

    def _log_failure(self, error: Failure, chat: str) -> None:
        if error.status == 429:
            self.gate.refused(chat, timedelta(seconds=error.retry_after or 1))
        log.info("Telegram: %s", error)

    def _count(self, kind: str) -> None:
        self._health.counts[kind] = self._health.counts.get(kind, 0) + 1
