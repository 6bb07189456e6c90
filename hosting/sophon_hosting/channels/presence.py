"""Typing indicator and live preview: shown in the chat while a turn runs, and ended with it."""

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
"""Interval of the typing indicator, which Telegram shows for 5 s. Source: reference/channels.md."""

EDIT_SECONDS = {"direct": 1.0, "group": 3.0}
"""Interval between two updates of a preview, by kind of chat. Source: reference/hosts.md."""

LONGEST_SECONDS = 600.0
"""Maximum duration of typing indicator and preview for one turn."""

SETTLE_SECONDS = 5.0
"""How long a reply waits for a preview update in flight."""

MOST_SHOWN = 1000
"""Number of runs whose preview id is remembered."""

OVER = frozenset({"task_completed", "task_failed", "task_cancelled", "approval_requested"})
"""Events that end indicator and preview."""


@dataclass(eq=False)
class _TurnDisplay:
    """State of one turn: the streamed text of the current epoch, and the task that shows it."""

    text: str = ""
    epoch: int = 0
    is_over: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None


class Presence:
    """Shows typing indicator and preview for the turns of all channels, driven by the host's events."""

    def __init__(self, channels: Mapping[str, Channel], store: Store, clock: Clock) -> None:
        self._channels, self._store, self._clock = channels, store, clock
        self._displays: dict[str, _TurnDisplay] = {}
        self._preview_ids: OrderedDict[str, str] = OrderedDict()

    def hear(self, frame: Frame) -> None:
        """Handle one event of the feed; never blocks."""
        if frame.name in OVER:
            display = self._displays.get(frame.task_id)
            if display is not None:
                display.is_over.set()
        elif frame.name in ("task_started", "approval_resolved"):
            self._start_display(frame.task_id)
        elif frame.name in ("stream_chunk", "stream_reset"):
            self._append_chunk(frame)

    def shown(self, run_id: str) -> str | None:
        """Return the platform's id of the run's preview; the newest thousand are remembered."""
        return self._preview_ids.get(run_id)

    async def settled(self, run_id: str) -> None:
        """Wait until no preview update of a finished run is in flight, or `SETTLE_SECONDS` have passed."""
        display = self._displays.get(run_id)
        if display is None or display.task is None:
            return
        display.is_over.set()  # the reply is stored before the final event is published
        try:
            async with self._clock.timeout(SETTLE_SECONDS):
                await asyncio.wait({display.task})
        except TimeoutError:
            log.info("the reply of run %s no longer waits for its preview", run_id)

    async def stop(self) -> None:
        """Cancel all indicators and previews."""
        tasks = [display.task for display in self._displays.values() if display.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _start_display(self, run_id: str) -> None:
        if run_id not in self._displays:
            display = self._displays[run_id] = _TurnDisplay()
            display.task = asyncio.create_task(self._run_display(run_id, display))

    def _append_chunk(self, frame: Frame) -> None:
        display = self._displays.get(frame.task_id)
        if display is None:
            return
        epoch = int(frame.data.get("epoch", 0))
        if epoch > display.epoch or frame.name == "stream_reset":
            display.epoch, display.text = epoch, ""
        if frame.name == "stream_chunk" and epoch == display.epoch:
            display.text += str(frame.data["text"])

    async def _run_display(self, run_id: str, display: _TurnDisplay) -> None:
        try:
            run = await self._store.runs.get(run_id)
            channel = self._channels.get(run.channel)
            if channel is not None and run.origin.get("place"):
                async with self._clock.timeout(LONGEST_SECONDS):
                    await self._show_turn(channel, run, display)
        except (NotFound, TimeoutError):
            pass
        except Exception:
            log.exception("the preview of run %s could not be shown", run_id)
        finally:
            del self._displays[run_id]

    async def _show_turn(self, channel: Channel, run: Run, display: _TurnDisplay) -> None:
        place = place_of(run.origin)
        typing = asyncio.create_task(self._keep_typing(channel, place, str(run.origin.get("reply_to", ""))))
        try:
            await self._update_previews(channel, run, place, display)
        finally:
            typing.cancel()  # may be blocked in a call to the platform
            await asyncio.gather(typing, return_exceptions=True)

    async def _keep_typing(self, channel: Channel, place: Place, message_id: str) -> None:
        while True:
            try:
                await channel.busy(place, message_id)
            except Exception:
                log.exception("%s: the typing indicator could not be shown", channel.name)
            await self._clock.sleep(TYPING_SECONDS)

    async def _update_previews(self, channel: Channel, run: Run, place: Place, display: _TurnDisplay) -> None:
        shown_text = ""
        while not display.is_over.is_set():
            if display.text.strip() and display.text != shown_text:
                shown_text = display.text
                await self._update_preview(channel, run, place, shown_text)
            try:
                async with self._clock.timeout(EDIT_SECONDS[place.kind]):
                    await display.is_over.wait()
            except TimeoutError:
                continue

    async def _update_preview(self, channel: Channel, run: Run, place: Place, text: str) -> None:
        previous_id = self._preview_ids.get(run.id)
        preview_id = await channel.progress(place, text, previous_id, str(run.origin.get("reply_to") or "") or None)
        if preview_id is not None:
            self._preview_ids[run.id] = preview_id
            self._preview_ids.move_to_end(run.id)
            while len(self._preview_ids) > MOST_SHOWN:
                self._preview_ids.popitem(last=False)


def place_of(origin: Mapping[str, Any]) -> Place:
    """Return the chat location that `Run.origin` stores."""
    return Place(**origin["place"])
