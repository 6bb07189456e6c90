"""What a channel sends: past the gate, once, and what became of it."""

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
    """All that goes out to people; nothing in it waits, and nothing of the platform or the network is raised."""

    def __init__(self, client: Client, clock: Clock, health: Health) -> None:
        self._client, self._health = client, health
        self.gate = Gate(clock)

    async def send(self, entry: OutboundEntry) -> Receipt:
        """As `Channel.send`."""
        chat, thread = requests.chat_and_thread(entry.chat)
        wait = self.gate.final(chat)
        if wait.time > GO:
            return Refused("held back: Telegram's limits", wait.time, wait.everywhere)
        try:
            platform_id = await self._client.deliver(entry.chat, entry.payload, is_repeat=entry.doubtful)
        except Failure as failure:
            return self._failed(failure, entry.attempts, chat, thread)
        except ChannelError as error:
            return Undeliverable(str(error))
        except (KeyError, TypeError, ValueError) as error:
            return Undeliverable(f"this cannot be a message of Telegram: {type(error).__name__}")
        self._count("sent")
        return Sent(platform_id)

    async def progress(self, place: Place, text: str, shown: str | None, reply_to: str | None) -> str | None:
        """As `Channel.progress`."""
        if not text.strip() or not self.gate.progress(place.chat):
            return shown
        try:
            return await self._client.deliver(place.key, requests.progress(text, shown, reply_to))
        except Failure as failure:
            self._noted(failure, place.chat)
            return shown

    async def busy(self, place: Place) -> None:
        """As `Channel.busy`."""
        if not self.gate.typing(place.chat):
            return
        try:
            await self._client.typing(place.chat, place.thread)
        except Failure as failure:
            self._noted(failure, place.chat)

    async def acknowledge(self, press: Pressed, note: str) -> None:
        """As `Channel.acknowledge`: always, since a button shows a progress bar until then; a late one fails."""
        try:
            await self._client.acknowledge(press.press_id, note)
        except Failure as failure:
            self._noted(failure, press.place.chat)

    def _failed(self, failure: Failure, attempts: int, chat: str, thread: str | None) -> Receipt:
        self._count("failed")
        if failure.status == 429:
            wait = self.gate.refused(chat, timedelta(seconds=failure.retry_after or 1))
            return Refused(str(failure), wait.time, wait.everywhere)
        if failure.status == 401:
            self._health.state, self._health.detail = "refused", str(failure)
        return receipt(failure, attempts, thread)

    def _noted(self, failure: Failure, chat: str) -> None:
        if failure.status == 429:
            self.gate.refused(chat, timedelta(seconds=failure.retry_after or 1))
        log.info("Telegram: %s", failure)

    def _count(self, what: str) -> None:
        self._health.counts[what] = self._health.counts.get(what, 0) + 1
