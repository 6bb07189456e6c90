"""While a turn runs, its chat shows it: typing, and how far the reply is. Bound to the turn, and gone with it."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sophon.clock import Clock
from sophon.errors import NotFound
from sophon.stores.contracts import Store
from sophon.stores.run_contracts import Run
from sophon_channels.contract import Channel, Place
from sophon_hosting.events.frame import Frame

log = logging.getLogger("sophon")

TYPING_SECONDS = 4.0
"""Telegram shows it for five. Source: reference/channels.md."""

EDIT_SECONDS = {"direct": 1.0, "group": 3.0}
"""Between two pictures of a reply. Source: reference/hosts.md."""

LONGEST_SECONDS = 600.0
"""After this a chat is left alone until the answer: an indicator that never ends says nothing."""

SETTLE_SECONDS = 5.0
"""An answer waits so long at most for a picture of it that is on its way."""

MOST_SHOWN = 1000

OVER = frozenset({"task_completed", "task_failed", "task_cancelled", "approval_requested"})


@dataclass(eq=False)
class _Company:
    """What keeps a turn company."""

    text: str = ""
    epoch: int = 0
    over: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None


class Presence:
    """Listens to the events of a host, and shows the turns of its channels."""

    def __init__(self, channels: Mapping[str, Channel], store: Store, clock: Clock) -> None:
        self._channels, self._store, self._clock = channels, store, clock
        self._running: dict[str, _Company] = {}
        self._shown: OrderedDict[str, str] = OrderedDict()

    def hear(self, frame: Frame) -> None:
        """A `Listener`: never waits."""
        if frame.name in OVER:
            company = self._running.get(frame.task_id)
            if company is not None:
                company.over.set()
        elif frame.name in ("task_started", "approval_resolved"):
            self._accompany(frame.task_id)
        elif frame.name in ("stream_chunk", "stream_reset"):
            self._heard(frame)

    def shown(self, run_id: str) -> str | None:
        """The platform's id of what is shown of a run; of the newest thousand."""
        return self._shown.get(run_id)

    async def settled(self, run_id: str) -> None:
        """A run is over: return when nothing of it is on its way any more, or the platform hangs."""
        company = self._running.get(run_id)
        if company is None or company.task is None:
            return
        company.over.set()  # its answer is in the ledger before its end is told
        try:
            async with self._clock.timeout(SETTLE_SECONDS):
                await asyncio.wait({company.task})
        except TimeoutError:
            log.info("the answer of run %s waits no longer for what is shown of it", run_id)

    async def stop(self) -> None:
        """Leave all chats alone."""
        tasks = [company.task for company in self._running.values() if company.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _accompany(self, run_id: str) -> None:
        if run_id not in self._running:
            company = self._running[run_id] = _Company()
            company.task = asyncio.create_task(self._keep(run_id, company))

    def _heard(self, frame: Frame) -> None:
        company = self._running.get(frame.task_id)
        if company is None:
            return
        epoch = int(frame.data.get("epoch", 0))
        if epoch > company.epoch or frame.name == "stream_reset":
            company.epoch, company.text = epoch, ""
        if frame.name == "stream_chunk" and epoch == company.epoch:
            company.text += str(frame.data["text"])

    async def _keep(self, run_id: str, company: _Company) -> None:
        try:
            run = await self._store.runs.get(run_id)
            channel = self._channels.get(run.channel)
            if channel is not None and run.origin.get("place"):
                async with self._clock.timeout(LONGEST_SECONDS):
                    await self._show(channel, run, company)
        except (NotFound, TimeoutError):
            pass
        except Exception:
            log.exception("how far run %s is could not be shown", run_id)
        finally:
            del self._running[run_id]

    async def _show(self, channel: Channel, run: Run, company: _Company) -> None:
        place = place_of(run.origin)
        typing = asyncio.create_task(self._type(channel, place, str(run.origin.get("reply_to", ""))))
        try:
            await self._draw_all(channel, run, place, company)
        finally:
            typing.cancel()  # it may hang, and nothing waits for it
            await asyncio.gather(typing, return_exceptions=True)

    async def _type(self, channel: Channel, place: Place, message: str) -> None:
        while True:
            try:
                await channel.busy(place, message)
            except Exception:
                log.exception("%s: that an answer is made could not be shown", channel.name)
            await self._clock.sleep(TYPING_SECONDS)

    async def _draw_all(self, channel: Channel, run: Run, place: Place, company: _Company) -> None:
        drawn = ""
        while not company.over.is_set():
            if company.text.strip() and company.text != drawn:
                drawn = company.text
                await self._draw(channel, run, place, drawn)
            try:
                async with self._clock.timeout(EDIT_SECONDS[place.kind]):
                    await company.over.wait()
            except TimeoutError:
                continue

    async def _draw(self, channel: Channel, run: Run, place: Place, text: str) -> None:
        before = self._shown.get(run.id)
        shown = await channel.progress(place, text, before, str(run.origin.get("reply_to") or "") or None)
        if shown is not None:
            self._shown[run.id] = shown
            self._shown.move_to_end(run.id)
            while len(self._shown) > MOST_SHOWN:
                self._shown.popitem(last=False)


def place_of(origin: Mapping[str, Any]) -> Place:
    """Where a message came from."""
    return Place(**origin["place"])
