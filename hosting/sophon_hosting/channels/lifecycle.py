"""Life cycle of all channels of a host: composition, start, stop."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Literal, TypeAlias

from aiohttp import web

from sophon.errors import NotFound, StoreUnavailable
from sophon.failure_log import log_failure
from sophon.principals import channel_person_principal
from sophon.services import Services
from sophon.stores.outbound_entry import OutboundEntry
from sophon.stores.runs.contract import Run
from sophon_channels.contract import Channel
from sophon_channels.errors import ChannelError
from sophon_hosting.channels.approval_prompts import ApprovalPrompts
from sophon_hosting.channels.attach_hints import AttachHints
from sophon_hosting.channels.chat_profiles import ChatProfiles, check_chats
from sophon_hosting.channels.chat_state import ChatState
from sophon_hosting.channels.factory import ConfiguredChannel
from sophon_hosting.channels.inbound.attachments import AttachmentDownloader
from sophon_hosting.channels.inbound.delivery_receipts import DeliveryReceiptHandler
from sophon_hosting.channels.inbound.handler import InboundHandler
from sophon_hosting.channels.inbound.shown_files import ShownFiles
from sophon_hosting.channels.inbound.transcription import Transcriber
from sophon_hosting.channels.outbound.blocked_calls import BlockedCallNotices, is_block
from sophon_hosting.channels.outbound.delivery_rules import credential_delay
from sophon_hosting.channels.outbound.entries import OutboundWriter
from sophon_hosting.channels.outbound.goal_notices import GoalNotices, is_goal_pause
from sophon_hosting.channels.outbound.outbox_worker import OutboxWorker, find_poll_seconds
from sophon_hosting.channels.outbound.replies import ReplyBuilder
from sophon_hosting.channels.outbound.send_file_tool import FILE_KIND, create_send_file_tool
from sophon_hosting.channels.outbound.speech_synthesis import SpeechSynthesizer
from sophon_hosting.channels.outbound.spoken_answers import VOICE_KIND, Speech, SpokenAnswers, build_speech
from sophon_hosting.channels.outbound.typing import TypingAndPreview
from sophon_hosting.channels.outbound.undelivered import NOTICE_KIND, UndeliveredAnswers
from sophon_hosting.channels.pairing import PairingService
from sophon_hosting.channels.recipients import RecipientAddresses
from sophon_hosting.events.wire_event import WireEvent
from sophon_hosting.host import Host

log = logging.getLogger("sophon")

FINAL_EVENTS = frozenset({"task_completed", "task_failed", "task_cancelled"})
"""Events after which a channel may have a reply to send."""


START_RETRY_SECONDS = 5.0
"""Delay before a channel is started again after an error of the host."""

DETACHED_AFTER = 5
"""Refused starts in a row after which a channel is reported as detached. Source: reference/features.md 212."""

START_WAIT_SECONDS = 90.0
"""How long a turn with files waits for its channel to start: longer than the delay after a rejected credential."""

PROMPT_CHECK_SECONDS = 60.0
"""Interval at which missed prompts and decisions (of another process, or after an error) are sent."""

GROUP_PROMPT_CHECK_SECONDS = 3.0
"""The same in a group of processes, where a turn may run in another one than that which sends."""

EXPIRY_INTERVAL_SECONDS = 3600.0
"""Interval at which expired notes are deleted."""

StartOutcome: TypeAlias = Literal["started", "rejected", "failed"]
"""Outcome of a start: `rejected` if only another credential or setting helps, `failed` after an error of the host."""


class ConnectedChannel:
    """One channel connected to a host, with its inbound handler, approval prompts and outbox worker.

    Of several processes the leader of the channel sends, polls and does the periodic work. A channel with a webhook
    receives in every process that answers HTTP (`has_http`), because the platform may call any of them.
    """

    def __init__(
        self,
        host: Host,
        configured: ConfiguredChannel,
        typing: TypingAndPreview,
        replies: ReplyBuilder,
        *,
        has_http: bool,
        reads_voice: bool,
        speech: Speech | None,
        on_leading: Callable[[], None],
    ) -> None:
        services, channel = host.services, configured.channel
        self.channel = channel
        self.chat_state = ChatState(channel, services.store, services.clock)
        self._typing, self._replies, self._store = typing, replies, services.store
        self._clock, self._leadership = services.clock, host.leadership
        self._duty, self._on_leading = f"channel:{channel.name}", on_leading
        self._receives_everywhere = host.membership.is_shared and has_http and bool(channel.routes())
        self._check_seconds = GROUP_PROMPT_CHECK_SECONDS if host.membership.is_shared else PROMPT_CHECK_SECONDS
        writer = OutboundWriter(channel, services.store, self._wake_worker)
        self.undelivered = UndeliveredAnswers(
            channel,
            services.store,
            services.clock,
            chat_state=self.chat_state,
            writer=writer,
            event_bus=host.event_bus,
        )
        receipts = DeliveryReceiptHandler(channel, services.store, self.undelivered)
        self._spoken_answers = SpokenAnswers(channel, services.store, self._wake_worker, receipts, speech)
        self._addresses = RecipientAddresses(services.store)
        self._credential_rejected = asyncio.Event()
        self._start_error = ""
        self._started, self._attach = asyncio.Event(), asyncio.Event()
        self._is_waiting_to_start = False
        self.outbox_worker = OutboxWorker(
            channel,
            services.store.outbox,
            services.clock,
            poll_seconds=find_poll_seconds(host),
            migrate_chat=self.chat_state.migrate_chat,
            refresh_payload=self._refresh_payload,
            find_chat=self._find_chat,
            listener=self._spoken_answers,
            on_unauthorized=self._credential_rejected.set,
        )
        self.approval_prompts = ApprovalPrompts(host, channel, self.chat_state, writer, typing.complete_preview)
        self._blocked_calls = BlockedCallNotices(channel, services.store, writer)
        self._goals = GoalNotices(channel, services.store, writer)
        self.inbound = InboundHandler(
            host,
            channel,
            configured.policy,
            chat_state=self.chat_state,
            writer=writer,
            approval_prompts=self.approval_prompts,
            pairing=PairingService(services.store, services.clock),
            undelivered=self.undelivered,
            receipts=receipts,
            options=configured.inbound,
            profiles=ChatProfiles(configured.chats, self.chat_state),
            reads_voice=reads_voice,
        )
        self._receiving: asyncio.Task[None] | None = None
        self._leading: asyncio.Task[None] | None = None
        self._is_stopping = False
        self._term = 0
        """How often this process has become the leader of the channel."""

    @property
    def is_leader(self) -> bool:
        """Whether this process sends to the channel."""
        return self._leadership.is_leader(self._duty)

    async def show_event(self, event: WireEvent) -> None:
        """Show an approval, its decision, a blocked call or a paused goal in its chat, if that is on this channel."""
        if event.name == "approval_requested":
            await self.approval_prompts.send_prompt(str(event.data["approval_id"]))
        elif event.name == "approval_resolved":
            await self.approval_prompts.show_decision(str(event.data["approval_id"]))
        elif is_block(event):
            await self._blocked_calls.send(event)
        else:
            await self._goals.send(event)

    def start(self) -> None:
        """Start the outbox worker and, in the background, the channel; a failing channel blocks nothing.

        Nothing is sent before the channel's start has ended.
        """
        self.outbox_worker.hold()
        self._is_stopping = False
        if self._receives_everywhere:
            self._start_receiving()
        self._leading = asyncio.create_task(self._leadership.lead(self._duty, self._lead))

    async def wait_until_started(self) -> None:
        """Wait until the channel has started, at most `START_WAIT_SECONDS`, if this process is to start it."""
        if self._receiving is None and not self.is_leader:
            return
        with suppress(TimeoutError):
            async with self._clock.timeout(START_WAIT_SECONDS):
                await self._started.wait()

    async def stop_receiving(self) -> None:
        """Stop to receive, for good; sending continues."""
        self._is_stopping = True
        await self._end_receiving()

    async def stop(self) -> None:
        """Stop to send, and stop the channel."""
        self._is_stopping = True
        leading, self._leading = self._leading, None
        if leading is not None:
            leading.cancel()
            await asyncio.gather(leading, return_exceptions=True)
        await self._spoken_answers.close()
        await self._end_receiving()
        await self.channel.stop()

    def _start_receiving(self) -> None:
        if not self._is_stopping:
            self.inbound.open()
            self._receiving = asyncio.create_task(self._run())

    async def _end_receiving(self) -> None:
        receiving, self._receiving = self._receiving, None
        if receiving is not None:
            receiving.cancel()
            await asyncio.gather(receiving, return_exceptions=True)
        await self.inbound.close()

    async def _lead(self) -> None:
        """Send, and receive unless this process does so anyway, until this process no longer leads."""
        self.outbox_worker.hold()
        if not self._receives_everywhere:
            self._start_receiving()
        self._term += 1
        self._on_leading()
        try:
            await self.outbox_worker.run()
        finally:
            self.outbox_worker.hold()
            self._on_leading()
            if not (self._receives_everywhere or self._is_stopping):
                await self._end_receiving()
                self._started.clear()
                await self.channel.stop()

    def _wake_worker(self) -> None:
        self.outbox_worker.wake()

    async def _run(self) -> None:
        """Start the channel, and start it again from time to time while the platform rejects its credential.

        Every start reads the credential again, so a replaced one is noticed; a file (`{"$file": ...}`) without a
        restart of the host.
        """
        rejections = 0
        while True:
            self._credential_rejected.clear()
            outcome = await self._try_start()
            if outcome == "started":
                self._started.set()
            if outcome == "started" and await self._serve():
                rejections = 0
            self.outbox_worker.hold()
            rejections += outcome != "failed"
            if rejections >= DETACHED_AFTER:
                self._detach(rejections)
            if await self._wait_to_start(START_RETRY_SECONDS if outcome == "failed" else credential_delay(rejections)):
                rejections = 0
            self._started.clear()
            await self.channel.stop()

    def _detach(self, rejections: int) -> None:
        """Report that nobody should wait for the channel; it is still tried from time to time, without a log line."""
        if rejections == DETACHED_AFTER:
            log.error("the channel %s is detached after %d refused starts", self.channel.name, rejections)
        self.channel.health.state = "detached"

    async def _wait_to_start(self, seconds: float) -> bool:
        """Wait until the next start; return whether it was asked for (`attach`)."""
        self._attach.clear()
        self._is_waiting_to_start = True
        try:
            async with self._clock.timeout(seconds):
                await self._attach.wait()
        except TimeoutError:
            return False
        finally:
            self._is_waiting_to_start = False
        return True

    def attach(self) -> bool:
        """Start the channel at once, with credentials that are read now; return False if it does not wait for that in
        this process.
        """
        self._attach.set()
        return self._is_waiting_to_start

    async def _serve(self) -> bool:
        """Send and do periodic work, as the leader, until the credential is rejected; return whether it was accepted
        before.
        """
        health, was_running, has_resumed, has_announced = self.channel.health, False, False, False
        last_expiry, term = self._clock.monotonic(), None
        while not (self._credential_rejected.is_set() or health.is_credential_rejected or health.state == "refused"):
            was_running = was_running or health.state == "running"
            if self.is_leader and term != self._term:
                term, has_resumed, has_announced = self._term, False, False
                self.outbox_worker.resume(clear_penalties=False)
            if self.is_leader and was_running and not has_announced:
                has_announced = True
                self.outbox_worker.resume()
                await self._try_periodic(self.undelivered.announce_all)
            if self.is_leader and was_running and not has_resumed:  # earlier the other pieces could not arrive
                has_resumed = await self._try_periodic(self.inbound.media_groups.resume)
            with suppress(TimeoutError):
                async with self._clock.timeout(self._check_seconds):
                    await self._credential_rejected.wait()
                    break
            if not self.is_leader:
                continue
            await self._try_periodic(self.approval_prompts.send_missing)
            await self._try_periodic(self.inbound.edit_dialogues.expire_due)
            if self._clock.monotonic() - last_expiry >= EXPIRY_INTERVAL_SECONDS:
                last_expiry = self._clock.monotonic()
                await self._try_periodic(self.chat_state.expire_old)
        return was_running

    async def _try_periodic(self, action: Callable[[], Awaitable[None]]) -> bool:
        try:
            await action()
        except Exception as error:  # noqa: BLE001 - logged, and tried again
            log_failure(log, error, "%s: periodic work failed; it is retried", self.channel.name)
            return False
        return True

    async def _try_start(self) -> StartOutcome:
        """Try to start the channel."""
        try:
            if self.is_leader:
                await self.approval_prompts.send_missing()
            await self.inbound.identities.load()
            await self.chat_state.expire_old()
            await self.channel.start(self.inbound)
        except ChannelError as error:
            self.channel.health.state, self.channel.health.detail = "refused", str(error)
            if str(error) != self._start_error:  # not at each of the attempts
                log.error("the channel %s cannot run: %s", self.channel.name, error)  # noqa: TRY400 - no traceback
            self._start_error = str(error)
            return "rejected"
        except StoreUnavailable as error:
            self.channel.health.state, self.channel.health.detail = "failing", str(error)
            log_failure(log, error, "the channel %s could not be started; it is retried", self.channel.name)
            return "failed"
        except Exception:
            self.channel.health.state, self.channel.health.detail = "failing", "internal error; see the host's log"
            log.exception("the channel %s could not be started; it is retried", self.channel.name)
            return "failed"
        self._start_error = ""
        return "started"

    async def _find_chat(self, entry: OutboundEntry) -> str | None:
        """Return the chat that reaches the recipient of an entry now, None if there is none."""
        recipient = await self._addresses.find_recipient(entry)
        return await self._addresses.find_chat(self.channel, recipient, entry.chat)

    async def _refresh_payload(self, entry: OutboundEntry) -> Mapping[str, Any] | None:
        """Return a refreshed payload: the message that an entry replaces may be known only now; files replace none."""
        if entry.kind in (FILE_KIND, VOICE_KIND):
            return None
        if entry.kind == NOTICE_KIND:
            return await self.undelivered.refresh_payload(entry)
        if entry.run_id is None:
            return await self.approval_prompts.refresh_payload(entry)
        await self._typing.wait_until_idle(entry.run_id)
        if entry.position > 0 or await self._typing.load_preview(self.channel, entry.run_id) is None:
            return None
        run = await self._store.runs.get(entry.run_id)
        # In a thread: the answer is rendered again, which takes seconds for a megabyte of markdown.
        return await self._clock.run_in_thread(partial(self._replies.refresh_payload, entry, run))


class ChannelSupervisor:
    """Supervisor of all channels of a host.

    The host is created with `replies`, `prepare_run` and `approvers`; then `connect` and `start` follow. Raises
    SettingsError for chats with an agent, a model or a tool that there is not.
    """

    def __init__(
        self,
        services: Services,
        channels: Sequence[ConfiguredChannel],
        transcriber: Transcriber | None = None,
        synthesizer: SpeechSynthesizer | None = None,
    ) -> None:
        self._speech = build_speech(synthesizer, services.settings, services.folder)
        self._reads_voice = transcriber is not None
        self._services, self._configured = services, list(channels)
        for each in self._configured:
            check_chats(services, each.channel.name, each.chats)
        by_name: dict[str, Channel] = {each.channel.name: each.channel for each in channels}
        self._typing = TypingAndPreview(by_name, services.store, services.clock, self._is_leader)
        self.replies = ReplyBuilder(by_name, services.clock, self._typing.find_preview)
        self._attachments = AttachmentDownloader(
            by_name,
            services.folder / services.settings.tools.files_root,
            services.clock,
            transcriber,
            ShownFiles(services),
        )
        self._connected: dict[str, ConnectedChannel] = {}
        self._attach_hints: AttachHints | None = None
        self._host: Host | None = None
        self._shown_events: asyncio.Queue[WireEvent] = asyncio.Queue()
        self._prompt_task: asyncio.Task[None] | None = None
        self._listens_elsewhere = False
        if by_name:
            services.register_tool(create_send_file_tool(by_name, self._wake))

    @property
    def channels(self) -> list[Channel]:
        """All configured channels, including those that cannot run."""
        return [each.channel for each in self._configured]

    @property
    def configured(self) -> Sequence[ConfiguredChannel]:
        """The channels with the settings about who may write."""
        return self._configured

    @property
    def approvers(self) -> frozenset[str]:
        """The people in the channels' setting Approvers, as user ids of the host."""
        return frozenset(
            channel_person_principal(each.channel.name, person_id)
            for each in self._configured
            for person_id in each.policy.approvers
        )

    def attach(self, name: str) -> bool:
        """Start a channel at once that waits for its next start, in each process of the group; return False if it does
        not wait for that in this one.

        Raises NotFound.
        """
        connected = self._connected.get(name)
        if connected is None:
            raise NotFound("channel", name, [*self._connected])
        if self._attach_hints is not None:
            self._attach_hints.send(name)
        return connected.attach()

    def _attach_here(self, name: str) -> None:
        """Start a channel at once that another process was asked for; nothing if this one does not have it."""
        connected = self._connected.get(name)
        if connected is not None:
            connected.attach()

    def _list_detached(self) -> list[str]:
        return [each.channel.name for each in self._configured if each.channel.health.state == "detached"]

    def routes(self) -> list[web.RouteDef]:
        """Return the webhook routes of all channels."""
        return [route for each in self._configured for route in each.channel.routes()]

    async def load(self) -> None:
        """Read what outcomes need to know of earlier processes, once the store is open and before runs are resumed."""
        if self._configured:
            await self._typing.load_unfinished()

    async def prepare_run(self, run: Run) -> Run:
        """Return the run with the files of its message, before its turn starts.

        Runs are resumed before the channels start, so a run with files waits for its channel, if this process is to
        start that.
        """
        connected = self._connected.get(run.channel)
        if connected is not None and run.origin.get("attachments"):
            await connected.wait_until_started()
        return await self._attachments.prepare_run(run)

    def connect(self, host: Host, *, has_http: bool = True) -> None:
        """Connect each channel to the host; `has_http`: this process receives its webhooks."""
        self._host = host
        self._attach_hints = AttachHints(host.fanout, self._attach_here)
        host.channel_names.update(each.channel.name for each in self._configured)
        host.list_detached_channels = self._list_detached
        self._connected = {
            each.channel.name: ConnectedChannel(
                host,
                each,
                self._typing,
                self.replies,
                has_http=has_http,
                reads_voice=self._reads_voice,
                speech=self._speech,
                on_leading=self._follow_leadership,
            )
            for each in self._configured
        }
        for connected in self._connected.values():
            host.on_outbox_change(connected.outbox_worker.wake)

    def start(self) -> None:
        """Start all channels, once the host runs."""
        if self._host is None or not self._connected:
            return
        self._host.event_bus.subscribe_all(self._handle_event)
        self._listens_elsewhere = False
        if self._attach_hints is not None:
            self._attach_hints.start()
        self._prompt_task = asyncio.create_task(self._show_events())
        for connected in self._connected.values():
            connected.start()

    async def stop_receiving(self) -> None:
        """Stop to receive on all channels."""
        await asyncio.gather(*(connected.stop_receiving() for connected in self._connected.values()))

    async def stop(self) -> None:
        """Stop to send; entries that are not sent yet are sent after the next start."""
        if self._prompt_task is None:
            return
        if self._host is not None:
            self._host.event_bus.unsubscribe_all(self._handle_event)
        if self._attach_hints is not None:
            self._attach_hints.stop()
        self._prompt_task.cancel()
        with suppress(asyncio.CancelledError):
            await self._prompt_task
        self._prompt_task = None
        await self._typing.stop()
        await asyncio.gather(*(connected.stop() for connected in self._connected.values()))

    def _follow_leadership(self) -> None:
        """Listen to the events of other processes as well while this one shows them in the chats of a channel."""
        if self._host is None or self._prompt_task is None:
            return
        wanted = self._host.membership.is_shared and any(each.is_leader for each in self._connected.values())
        if wanted != self._listens_elsewhere:
            self._listens_elsewhere = wanted
            self._host.event_bus.unsubscribe_all(self._handle_event)
            self._host.event_bus.subscribe_all(self._handle_event, elsewhere=wanted)

    def _is_leader(self, channel: str) -> bool:
        connected = self._connected.get(channel)
        return connected is not None and connected.is_leader

    def _wake(self, channel: str) -> None:
        if (connected := self._connected.get(channel)) is not None:
            connected.outbox_worker.wake()

    def _handle_event(self, frame: WireEvent) -> None:
        self._typing.handle_event(frame)
        if frame.name in ("approval_requested", "approval_resolved") or is_block(frame) or is_goal_pause(frame):
            self._shown_events.put_nowait(frame)
        elif frame.name in FINAL_EVENTS:
            for connected in self._connected.values():
                connected.outbox_worker.wake()

    async def _show_events(self) -> None:
        """Show approval prompts, decisions and blocked calls in their chats, in order."""
        while True:
            event = await self._shown_events.get()
            for connected in self._connected.values():
                try:
                    await connected.show_event(event)
                except Exception as error:  # noqa: BLE001 - logged; prompts and decisions are tried again
                    log_failure(
                        log, error, "%s: %s of task %s was not shown", connected.channel.name, event.name, event.task_id
                    )
