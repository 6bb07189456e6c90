"""Life cycle of all channels of a host: composition, start, stop."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Literal, TypeAlias

from aiohttp import web

from sophon.errors import StoreUnavailable
from sophon.failure_log import log_failure
from sophon.principals import channel_person_principal
from sophon.services import Services
from sophon.stores.outbound_entry import OutboundEntry
from sophon.stores.runs.contract import Run
from sophon_channels.contract import Channel
from sophon_channels.errors import ChannelError
from sophon_hosting.channels.approval_prompts import ApprovalPrompts
from sophon_hosting.channels.chat_state import ChatState
from sophon_hosting.channels.factory import ConfiguredChannel
from sophon_hosting.channels.inbound.attachments import AttachmentDownloader
from sophon_hosting.channels.inbound.delivery_receipts import DeliveryReceiptHandler
from sophon_hosting.channels.inbound.handler import InboundHandler
from sophon_hosting.channels.outbound.blocked_calls import BlockedCallNotices, is_block
from sophon_hosting.channels.outbound.delivery_rules import credential_delay
from sophon_hosting.channels.outbound.entries import OutboundWriter
from sophon_hosting.channels.outbound.goal_notices import GoalNotices, is_goal_pause
from sophon_hosting.channels.outbound.outbox_worker import OutboxWorker
from sophon_hosting.channels.outbound.replies import ReplyBuilder
from sophon_hosting.channels.outbound.send_file_tool import FILE_KIND, create_send_file_tool
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

START_WAIT_SECONDS = 90.0
"""How long a turn with files waits for its channel to start: longer than the delay after a rejected credential."""

PROMPT_CHECK_SECONDS = 60.0
"""Interval at which missed prompts and decisions (of another process, or after an error) are sent."""

EXPIRY_INTERVAL_SECONDS = 3600.0
"""Interval at which expired notes are deleted."""

StartOutcome: TypeAlias = Literal["started", "rejected", "failed"]
"""Outcome of a start: `rejected` if only another credential or setting helps, `failed` after an error of the host."""


class ConnectedChannel:
    """One channel connected to a host, with its inbound handler, approval prompts and outbox worker."""

    def __init__(
        self, host: Host, configured: ConfiguredChannel, typing: TypingAndPreview, replies: ReplyBuilder
    ) -> None:
        services, channel = host.services, configured.channel
        self.channel = channel
        self.chat_state = ChatState(channel, services.store, services.clock)
        self._typing, self._replies, self._store = typing, replies, services.store
        self._clock = services.clock
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
        self._addresses = RecipientAddresses(services.store)
        self._credential_rejected = asyncio.Event()
        self._start_error = ""
        self._started = asyncio.Event()
        self.outbox_worker = OutboxWorker(
            channel,
            services.store.outbox,
            services.clock,
            migrate_chat=self.chat_state.migrate_chat,
            refresh_payload=self._refresh_payload,
            find_chat=self._find_chat,
            listener=receipts,
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
        )
        self._tasks: list[asyncio.Task[None]] = []

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
        self._tasks = [asyncio.create_task(self.outbox_worker.run()), asyncio.create_task(self._run())]

    async def wait_until_started(self) -> None:
        """Wait until the channel has started, at most `START_WAIT_SECONDS`."""
        with suppress(TimeoutError):
            async with self._clock.timeout(START_WAIT_SECONDS):
                await self._started.wait()

    async def stop_receiving(self) -> None:
        """Stop to receive; sending continues."""
        tasks = self._tasks[1:]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.inbound.close()

    async def stop(self) -> None:
        """Stop to send, and stop the channel."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
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
            await self._clock.sleep(START_RETRY_SECONDS if outcome == "failed" else credential_delay(rejections))
            self._started.clear()
            await self.channel.stop()

    async def _serve(self) -> bool:
        """Send and do periodic work until the credential is rejected; return whether it was accepted before."""
        health, was_running, has_resumed = self.channel.health, False, False
        last_expiry = self._clock.monotonic()
        if not health.is_credential_rejected:
            self.outbox_worker.resume(clear_penalties=False)
        while not (self._credential_rejected.is_set() or health.is_credential_rejected or health.state == "refused"):
            if not was_running and health.state == "running":
                was_running = True
                self.outbox_worker.resume()
                await self._try_periodic(self.undelivered.announce_all)
            if was_running and not has_resumed:  # before that the other pieces of a group could not arrive
                has_resumed = await self._try_periodic(self.inbound.media_groups.resume)
            with suppress(TimeoutError):
                async with self._clock.timeout(PROMPT_CHECK_SECONDS):
                    await self._credential_rejected.wait()
                    break
            await self._try_periodic(self.approval_prompts.send_missing)
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
        if entry.kind == FILE_KIND:
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

    The host is created with `replies`, `prepare_run` and `approvers`; then `connect` and `start` follow.
    """

    def __init__(self, services: Services, channels: Sequence[ConfiguredChannel]) -> None:
        self._services, self._configured = services, list(channels)
        by_name: dict[str, Channel] = {each.channel.name: each.channel for each in channels}
        self._typing = TypingAndPreview(by_name, services.store, services.clock)
        self.replies = ReplyBuilder(by_name, services.clock, self._typing.find_preview)
        self._attachments = AttachmentDownloader(
            by_name, services.folder / services.settings.tools.files_root, services.clock
        )
        self._connected: dict[str, ConnectedChannel] = {}
        self._host: Host | None = None
        self._shown_events: asyncio.Queue[WireEvent] = asyncio.Queue()
        self._prompt_task: asyncio.Task[None] | None = None
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

    def routes(self) -> list[web.RouteDef]:
        """Return the webhook routes of all channels."""
        return [route for each in self._configured for route in each.channel.routes()]

    async def load(self) -> None:
        """Read what outcomes need to know of earlier processes, once the store is open and before runs are resumed."""
        if self._configured:
            await self._typing.load_unfinished()

    async def prepare_run(self, run: Run) -> Run:
        """Return the run with the files of its message, before its turn starts.

        Runs are resumed before the channels start, so a run with files waits for its channel. A process that does not
        connect channels (`sophon worker`) waits for nothing.
        """
        connected = self._connected.get(run.channel)
        if connected is not None and run.origin.get("attachments"):
            await connected.wait_until_started()
        return await self._attachments.prepare_run(run)

    def connect(self, host: Host) -> None:
        """Connect each channel to the host."""
        self._host = host
        host.channel_names.update(each.channel.name for each in self._configured)
        self._connected = {
            each.channel.name: ConnectedChannel(host, each, self._typing, self.replies) for each in self._configured
        }
        for connected in self._connected.values():
            host.on_outbox_change(connected.outbox_worker.wake)

    def start(self) -> None:
        """Start all channels, once the host runs."""
        if self._host is None or not self._connected:
            return
        self._host.event_bus.subscribe_all(self._handle_event)
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
        self._prompt_task.cancel()
        with suppress(asyncio.CancelledError):
            await self._prompt_task
        self._prompt_task = None
        await self._typing.stop()
        await asyncio.gather(*(connected.stop() for connected in self._connected.values()))

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
