"""One channel connected to a host: its start and restart, sending, receiving and periodic work."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Literal, TypeAlias

from sophon.errors import StoreUnavailable
from sophon.failure_log import log_failure
from sophon_channels.errors import ChannelError
from sophon_channels.outbound_entry import OutboundEntry
from sophon_hosting.background_tasks import end_tasks
from sophon_hosting.channels.approval_prompts import ApprovalPrompts
from sophon_hosting.channels.channel_factory import ConfiguredChannel
from sophon_hosting.channels.channel_role import ChannelRole
from sophon_hosting.channels.chat_state import ChatState
from sophon_hosting.channels.configured_channels import ConfiguredChannels
from sophon_hosting.channels.direct_chat_recipients import RecipientAddresses
from sophon_hosting.channels.effective_chat_overrides import EffectiveChatOverrides
from sophon_hosting.channels.inbound.commands.off_the_record_chats import ChatsOffTheRecord
from sophon_hosting.channels.inbound.delivery_receipts import DeliveryReceiptHandler
from sophon_hosting.channels.inbound.handler import InboundHandler
from sophon_hosting.channels.outbound.chat_notices import ChatNotice
from sophon_hosting.channels.outbound.message_entries import OutboundWriter
from sophon_hosting.channels.outbound.outbox_worker import OutboxWorker, find_poll_seconds
from sophon_hosting.channels.outbound.quiet_entries import QuietEntries
from sophon_hosting.channels.outbound.retry_rules import credential_delay
from sophon_hosting.channels.outbound.send_file_tool import FILE_KIND
from sophon_hosting.channels.outbound.spoken_answers import VOICE_KIND, SpokenAnswers
from sophon_hosting.channels.outbound.undelivered_answers import NOTICE_KIND, UndeliveredAnswers
from sophon_hosting.channels.pairing import PairingService
from sophon_hosting.events.wire_event import WireEvent
from sophon_hosting.host import Host
from sophon_hosting.off_the_record.host import OffTheRecordHost
from sophon_hosting.store.contract import host_store

log = logging.getLogger("sophon")

START_RETRY_SECONDS = 5.0
"""Delay before a channel is started again after an error of the host."""

DETACHED_AFTER = 5
"""Refused starts in a row after which a channel is reported as detached."""

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

    `role` says what of it this process does; `channels` are all of the process.
    """

    def __init__(
        self,
        host: Host,
        configured: ConfiguredChannel,
        channels: ConfiguredChannels,
        role: ChannelRole,
        *,
        on_leading: Callable[[], None],
        notices: Sequence[ChatNotice],
    ) -> None:
        services, channel = host.services, configured.channel
        self.channel = channel
        self.chat_state = ChatState(channel, host_store(services), services.clock)
        self._typing, self._replies, self._store = channels.typing, channels.replies, host_store(services)
        self._clock, self._role, self._on_leading = services.clock, role, on_leading
        self._check_seconds = GROUP_PROMPT_CHECK_SECONDS if host.membership.is_shared else PROMPT_CHECK_SECONDS
        writer = OutboundWriter(channel, host_store(services), self._wake_worker)
        self.undelivered = UndeliveredAnswers(
            channel,
            host_store(services),
            services.clock,
            chat_state=self.chat_state,
            writer=writer,
            event_bus=host.event_bus,
        )
        receipts = DeliveryReceiptHandler(channel, host_store(services), self.undelivered)
        self._spoken_answers = SpokenAnswers(
            channel, host_store(services), self._wake_worker, receipts, channels.speech
        )
        self._addresses = RecipientAddresses(host_store(services))
        self._credential_rejected = asyncio.Event()
        self._start_error = ""
        self._attach = asyncio.Event()
        self._is_waiting_to_start = False
        self.outbox_worker = OutboxWorker(
            channel,
            host_store(services).outbox,
            services.clock,
            poll_seconds=find_poll_seconds(host),
            migrate_chat=self.chat_state.migrate_chat,
            refresh_payload=self._refresh_payload,
            find_chat=self._find_chat,
            find_hold=QuietEntries(channel, host_store(services), services.clock).find_hold,
            listener=self._spoken_answers,
            on_unauthorized=self._credential_rejected.set,
            changes=host.outbox_changes,
        )
        self.approval_prompts = ApprovalPrompts(
            host, channel, self.chat_state, writer, channels.typing.complete_preview
        )
        chat_overrides = EffectiveChatOverrides(configured.chats, self.chat_state)
        self._off_the_record = self._create_off_the_record(host, writer, chat_overrides)
        self._notices = [(each.is_about, each.create(channel, host_store(services), writer)) for each in notices]
        self.inbound = InboundHandler(
            host,
            channel,
            configured.policy,
            chat_state=self.chat_state,
            writer=writer,
            approval_prompts=self.approval_prompts,
            pairing=PairingService(host_store(services), services.clock),
            undelivered=self.undelivered,
            receipts=receipts,
            options=configured.inbound,
            chat_overrides=chat_overrides,
            off_the_record=self._off_the_record,
            reads_voice=channels.reads_voice,
        )
        off = self._off_the_record
        self._workers = [self.outbox_worker, *([] if off is None else [off.worker])]
        self._senders = [self.outbox_worker.run, *([] if off is None else [off.send])]
        self._receiving: asyncio.Task[None] | None = None
        self._leading: asyncio.Task[None] | None = None
        self._is_stopping = False
        self._term = 0
        """How often this process has become the leader of the channel."""

    @property
    def is_leader(self) -> bool:
        """Whether this process sends to the channel."""
        return self._role.is_leader

    async def show_event(self, event: WireEvent) -> None:
        """Show an approval, its decision or the notice of an event in its chat, if that is on this channel."""
        if event.name == "approval_requested":
            await self.approval_prompts.send_prompt(str(event.data["approval_id"]))
        elif event.name == "approval_resolved":
            await self.approval_prompts.show_decision(str(event.data["approval_id"]))
        for is_about, sender in self._notices:
            if is_about(event):
                await sender.send(event)

    def start(self) -> None:
        """Start the outbox worker and, in the background, the channel; a failing channel blocks nothing.

        Nothing is sent before the channel's start has ended.
        """
        self._hold()
        self._is_stopping = False
        if self._off_the_record is not None:
            self._off_the_record.start()
        if self._role.receives_everywhere:
            self._start_receiving()
        self._leading = asyncio.create_task(self._role.lead(self._lead))

    async def stop_receiving(self) -> None:
        """Stop to receive, for good; sending continues."""
        self._is_stopping = True
        await self._end_receiving()

    async def stop(self) -> None:
        """Stop to send, and stop the channel."""
        self._is_stopping = True
        leading, self._leading = self._leading, None
        await end_tasks(leading)
        await self._spoken_answers.close()
        if self._off_the_record is not None:
            await self._off_the_record.stop()
        await self._end_receiving()
        await self.channel.stop()

    def _start_receiving(self) -> None:
        if not self._is_stopping:
            self.inbound.open()
            self._receiving = asyncio.create_task(self._run())

    async def _end_receiving(self) -> None:
        receiving, self._receiving = self._receiving, None
        await end_tasks(receiving)
        await self.inbound.close()

    async def _lead(self) -> None:
        """Send, and receive unless this process does so anyway, until this process no longer leads."""
        self._hold()
        if not self._role.receives_everywhere:
            self._start_receiving()
        self._term += 1
        self._on_leading()
        try:
            await asyncio.gather(*(run() for run in self._senders))
        finally:
            self._hold()
            self._on_leading()
            if not (self._role.receives_everywhere or self._is_stopping):
                await self._end_receiving()
                self._role.note_stop()
                await self.channel.stop()

    def _wake_worker(self) -> None:
        self.outbox_worker.wake()

    def _hold(self) -> None:
        for worker in self._workers:
            worker.hold()

    def _resume(self, *, clear_penalties: bool = True) -> None:
        for worker in self._workers:
            worker.resume(clear_penalties=clear_penalties)

    def _create_off_the_record(
        self, host: Host, writer: OutboundWriter, chat_overrides: EffectiveChatOverrides
    ) -> ChatsOffTheRecord | None:
        off = host.off_the_record
        if not isinstance(off, OffTheRecordHost):
            return None
        return ChatsOffTheRecord(
            off,
            self.channel,
            self._store,
            self.chat_state,
            writer,
            chat_overrides,
            is_available=not self._role.receives_everywhere,
            on_unauthorized=self._credential_rejected.set,
        )

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
                self._role.note_start()
            if outcome == "started" and await self._serve():
                rejections = 0
            self._hold()
            rejections += outcome != "failed"
            if rejections >= DETACHED_AFTER:
                self._detach(rejections)
            if await self._wait_to_start(START_RETRY_SECONDS if outcome == "failed" else credential_delay(rejections)):
                rejections = 0
            self._role.note_stop()
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
                self._resume(clear_penalties=False)
            if self.is_leader and was_running and not has_announced:
                has_announced = True
                self._resume()
                await self._try_periodic(self.undelivered.announce_all)
            if self.is_leader and was_running and not has_resumed:  # earlier the other pieces could not arrive
                has_resumed = await self._try_periodic(self.inbound.merger.resume)
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
        return await self._addresses.find_chat(self.channel, entry.recipient, entry.chat)

    async def _refresh_payload(self, entry: OutboundEntry) -> Mapping[str, Any] | None:
        """Return a refreshed payload: the message that an entry replaces may be known only now; files replace none."""
        if entry.kind in (FILE_KIND, VOICE_KIND):
            return None
        if entry.kind == NOTICE_KIND:
            return await self.undelivered.refresh_payload(entry)
        if entry.run_id is None:
            return await self.approval_prompts.refresh_payload(entry)
        await self._typing.wait_until_idle(entry.run_id)
        if entry.doubtful:  # what has left may be in the chat: as an edit of a later preview it would lack the mark
            return None
        if entry.position > 0 or await self._typing.load_preview(self.channel, entry.run_id) is None:
            return None
        run = await self._store.runs.get(entry.run_id)
        # In a thread: the answer is rendered again, which takes seconds for a megabyte of markdown.
        return await self._clock.run_in_thread(partial(self._replies.refresh_payload, entry, run))
