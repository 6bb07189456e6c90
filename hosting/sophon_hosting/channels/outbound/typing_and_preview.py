"""Typing indicator and live preview: shown in the chat while a turn runs, and ended with it."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from sophon._python.joined_text import add_piece, join_texts
from sophon._python.lazy_dataclass import dataclass, new_list
from sophon.clock import Clock
from sophon.errors import NotFound, StateError, StoreError
from sophon.events import ApprovalRequested, event_type
from sophon.messages import collect_earlier_texts
from sophon_channels.contract import Channel, ChatLocation, DeletingChannel, OutboundMessage
from sophon_channels.errors import PreviewInDoubt
from sophon_hosting.background_tasks import end_tasks
from sophon_hosting.channels.direct_chat_recipients import RecipientAddresses
from sophon_hosting.events.wire_event import WireEvent
from sophon_hosting.runs.checkpoints.checkpoint_store import load_checkpoint
from sophon_hosting.store.channel_state.channel_state_entry import ChannelStateEntry
from sophon_hosting.store.contract import HostStore
from sophon_hosting.store.runs.contract import Run

log = logging.getLogger("sophon")

TYPING_INTERVAL_SECONDS = 4.0
"""Interval of the typing indicator, which Telegram shows for 5 s."""

PREVIEW_INTERVAL_SECONDS = {"direct": 1.0, "group": 3.0}
"""Interval between two updates of a preview, by kind of chat."""

MAX_TYPING_SECONDS = 600.0
"""Maximum duration of typing indicator and preview for one turn."""

IDLE_TIMEOUT_SECONDS = 5.0
"""How long a reply waits for a preview update in flight."""

MAX_WAITING_TEXTS = 1000
"""Number of runs that wait for an approval whose text is remembered."""

NO_TEXT_YET = "…"
"""Text of a preview whose turn waits for an approval and has written nothing since a restart."""

PREVIEW_KIND = "preview"
"""Kind of the note that stores the message id of a run's preview."""

MAX_REMEMBERED_PREVIEWS = 1000
"""Number of runs whose preview is remembered; those of others are read from the store."""


@dataclass(eq=False)
class _TurnDisplay:
    """State of one turn: the streamed text of the current epoch, in pieces, and the task that shows it."""

    pieces: list[str] = field(default_factory=new_list)
    epoch: int = 0
    is_over: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None
    has_reply: bool = False
    """Whether the reply was sent without waiting any longer for the preview."""

    def join_text(self) -> str:
        """Return the text. It is joined only here: at every chunk, it would be copied once for each of its words."""
        text = "".join(self.pieces)
        self.pieces = [text] if text else []
        return text


class TypingAndPreview:
    """Shows typing indicator and preview for the turns of all channels, driven by the host's events.

    `is_leader` says whether this process, of several with the same events, is the one that shows those of a channel.
    """

    def __init__(
        self,
        channels: Mapping[str, Channel],
        store: HostStore,
        clock: Clock,
        is_leader: Callable[[str], bool] = lambda channel: True,
    ) -> None:
        self._channels, self._store, self._clock, self._is_leader = channels, store, clock, is_leader
        self._displays: dict[str, _TurnDisplay] = {}
        self._previews = ShownPreviews(store)
        self._addresses = RecipientAddresses(store)
        self._waiting_texts: OrderedDict[str, tuple[int, str]] = OrderedDict()
        """Epoch and text of the runs that wait for an approval: a resumed run streams only what is new."""

    def handle_event(self, frame: WireEvent) -> None:
        """Handle one event of the feed; never blocks."""
        if frame.name == ApprovalRequested.wire_name or event_type(frame.name).is_final:
            display = self._displays.get(frame.task_id)
            if display is not None:
                display.is_over.set()
            self._keep_text(frame, display)
        elif frame.name in ("task_started", "approval_resolved"):
            self._start_display(frame.task_id)
        elif frame.name == "stream_reset":  # also the first event of a turn that goes on after a restart
            self._start_display(frame.task_id)
            self._append_chunk(frame)
        elif frame.name == "stream_chunk":
            self._append_chunk(frame)

    def find_preview(self, run_id: str) -> str | None:
        """Return the platform's id of the run's preview, as far as it is remembered; see `load_preview`."""
        return self._previews.find(run_id)

    async def load_preview(self, channel: Channel, run_id: str) -> str | None:
        """Return the platform's id of the run's preview, also if an earlier process has shown it."""
        return await self._previews.load(channel, run_id)

    async def load_unfinished(self) -> None:
        """Read the previews of all unfinished runs."""
        for run in await self._store.runs.list_unfinished():
            if (channel := self._channels.get(run.channel)) is not None:
                await self._previews.load(channel, run.id)

    async def complete_preview(self, run: Run) -> OutboundMessage | None:
        """Return the message that makes the preview of a waiting run whole; None if there is no preview.

        The preview may show the text of some moment before, or of a process that was killed.
        """
        channel = self._channels.get(run.channel)
        if channel is None:
            return None
        if self._previews.find(run.id) is None:
            await self.wait_until_idle(run.id)
        preview = await self._previews.load(channel, run.id)
        text = await self._load_waiting_text(run)
        if preview is None or text is None:
            return None
        return OutboundMessage(text or NO_TEXT_YET, replaces_message_id=preview)

    async def wait_until_idle(self, run_id: str) -> None:
        """Wait until no preview update of a finished run is in flight, or `IDLE_TIMEOUT_SECONDS` have passed."""
        display = self._displays.get(run_id)
        if display is None or display.task is None:
            return
        display.is_over.set()  # the reply is stored before the final event is published
        try:
            async with self._clock.timeout(IDLE_TIMEOUT_SECONDS):
                await asyncio.wait({display.task})
        except TimeoutError:
            display.has_reply = True
            log.info("the reply of run %s no longer waits for its preview", run_id)

    async def stop(self) -> None:
        """Cancel all indicators and previews."""
        await end_tasks(*(display.task for display in self._displays.values()))

    def _start_display(self, run_id: str) -> None:
        if run_id not in self._displays:
            epoch, text = self._waiting_texts.pop(run_id, (0, ""))
            display = self._displays[run_id] = _TurnDisplay([text] if text else [], epoch)
            display.task = asyncio.create_task(self._run_display(run_id, display))

    def _keep_text(self, frame: WireEvent, display: _TurnDisplay | None) -> None:
        if frame.name != "approval_requested":
            self._waiting_texts.pop(frame.task_id, None)
        elif display is not None:
            self._waiting_texts[frame.task_id] = (display.epoch, display.join_text())
            while len(self._waiting_texts) > MAX_WAITING_TEXTS:
                self._waiting_texts.popitem(last=False)

    async def _load_waiting_text(self, run: Run) -> str | None:
        """Return the text that the run has written before it waits; None if that is not known yet."""
        if run.id in self._waiting_texts:
            return self._waiting_texts[run.id][1]
        if run.status != "suspended" or run.checkpoint is None:
            return None
        try:
            checkpoint = await load_checkpoint(self._store, run)
        except StateError:  # resuming the run reports it
            return None
        return join_texts(collect_earlier_texts(checkpoint.messages))

    def _append_chunk(self, frame: WireEvent) -> None:
        display = self._displays.get(frame.task_id)
        if display is None:
            return
        epoch = int(frame.data.get("epoch", 0))
        if epoch > display.epoch or frame.name == "stream_reset":
            display.epoch, display.pieces = epoch, []
        if frame.name == "stream_chunk" and epoch == display.epoch:
            add_piece(display.pieces, str(frame.whole["text"]))

    async def _run_display(self, run_id: str, display: _TurnDisplay) -> None:
        try:
            run = await self._store.runs.get(run_id)
            channel = self._channels.get(run.channel)
            if channel is not None and self._is_leader(channel.name) and run.origin.get("place"):
                await self._previews.load(channel, run_id)
                async with self._clock.timeout(MAX_TYPING_SECONDS):
                    await self._show_turn(channel, run, display)
        except (NotFound, TimeoutError):
            pass
        except Exception:
            log.exception("the preview of run %s could not be shown", run_id)
        finally:
            del self._displays[run_id]

    async def _show_turn(self, channel: Channel, run: Run, display: _TurnDisplay) -> None:
        place = location_from_origin(run.origin)
        typing = asyncio.create_task(self._keep_typing(channel, run))
        await asyncio.sleep(0)  # the indicator starts before a preview, for which the text may be there already
        try:
            await self._update_previews(channel, run, place, display)
        finally:
            typing.cancel()  # may be blocked in a call to the platform
            await asyncio.gather(typing, return_exceptions=True)

    async def _keep_typing(self, channel: Channel, run: Run) -> None:
        message_id = str(run.origin.get("reply_to", ""))
        while True:
            try:
                if (place := await self._addresses.find_location(channel, run)) is not None:
                    await channel.send_typing(place, message_id)
            except Exception:
                log.exception("%s: the typing indicator could not be shown", channel.name)
            await self._clock.sleep(TYPING_INTERVAL_SECONDS)

    async def _update_previews(self, channel: Channel, run: Run, place: ChatLocation, display: _TurnDisplay) -> None:
        shown_text = ""
        while not display.is_over.is_set():
            text = display.join_text()
            if text.strip() and text != shown_text:
                try:
                    await self._update_preview(channel, run, place, display, text)
                except PreviewInDoubt as error:  # each further attempt could leave one more message beside the reply
                    log.warning("%s: run %s shows no preview any more: %s", channel.name, run.id, error)
                    await display.is_over.wait()
                    return
                # The rate limits may have refused the first one; a later one is repeated with the next text.
                shown_text = text if self.find_preview(run.id) is not None else ""
            try:
                async with self._clock.timeout(PREVIEW_INTERVAL_SECONDS[place.kind]):
                    await display.is_over.wait()
            except TimeoutError:
                continue

    async def _update_preview(
        self, channel: Channel, run: Run, place: ChatLocation, display: _TurnDisplay, text: str
    ) -> None:
        if await self._addresses.find_location(channel, run) != place:
            return  # the chat is somebody else's now, and elsewhere there is no message to update
        preview_id = await channel.update_preview(
            place, text, self.find_preview(run.id), str(run.origin.get("reply_to") or "") or None
        )
        if preview_id is not None and display.has_reply and self.find_preview(run.id) is None:
            if isinstance(channel, DeletingChannel):  # the reply stands beside it
                await channel.delete_message(place, preview_id)
        elif preview_id is not None:
            await self._previews.record(channel, run.id, preview_id)


def location_from_origin(origin: Mapping[str, Any]) -> ChatLocation:
    """Return the chat location that `Run.origin` stores."""
    return ChatLocation(**origin["place"])


class ShownPreviews:
    """Previews of all channels by run. The id is written once, when the message is created."""

    def __init__(self, store: HostStore) -> None:
        self._notes = store.channel_state
        self._previews: OrderedDict[str, str] = OrderedDict()

    def find(self, run_id: str) -> str | None:
        """Return the message id of the run's preview as far as it is remembered; `load` reads it from the store."""
        return self._previews.get(run_id)

    async def load(self, channel: Channel, run_id: str) -> str | None:
        """Return the message id of the run's preview, also if an earlier process has shown it."""
        if run_id not in self._previews:
            note = await self._notes.get(channel.name, channel.account, PREVIEW_KIND, run_id)
            if note is not None:
                self._remember(run_id, str(note.value["message"]))
        return self._previews.get(run_id)

    async def record(self, channel: Channel, run_id: str, message_id: str) -> None:
        """Record the message of the preview; a new id is durable on return, unless the store fails."""
        known = self._previews.get(run_id)
        self._remember(run_id, message_id)
        if known != message_id:
            note = ChannelStateEntry(channel.name, channel.account, PREVIEW_KIND, run_id, {"message": message_id})
            try:
                await self._notes.put(note)
            except StoreError as error:  # only a kill before the answer would leave the preview
                log.warning("%s: the preview of run %s could not be stored: %s", channel.name, run_id, error)

    def _remember(self, run_id: str, message_id: str) -> None:
        self._previews[run_id] = message_id
        self._previews.move_to_end(run_id)
        while len(self._previews) > MAX_REMEMBERED_PREVIEWS:
            self._previews.popitem(last=False)
