"""Acceptance of messages: once per idempotency key, into a queue with room, stored before the sender is answered."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from sophon._python.lazy_dataclass import dataclass, new_dict
from sophon.errors import InputError, SophonError
from sophon.security.sliding_windows import Reservation
from sophon.services import Services
from sophon.stores.rate_windows.sql import add_rate_events
from sophon.stores.unit_of_work import UnitOfWork, Write, WriteKind
from sophon.traces.trace_context import parse_traceparent
from sophon.turn.option_checks import (
    check_image_count,
    check_max_iterations,
    check_tags,
    check_temperature,
    parse_planning_mode,
)
from sophon_hosting.events.event_bus import EventBus
from sophon_hosting.events.session_transactions import BuildRows, Stored
from sophon_hosting.key_locks import KeyLocks
from sophon_hosting.queue.contract import QueueEntry, ReservedSlot, TaskQueue
from sophon_hosting.queue.errors import QueueFull, QueueUnavailable
from sophon_hosting.queue.health import QueueHealth
from sophon_hosting.runs.active_runs import AcceptedRuns
from sophon_hosting.runs.deletion_lock import DeletionLock
from sophon_hosting.runs.message_rate import MessageRateLimiter
from sophon_hosting.runs.queue_entries import build_queue_entry, build_task_queued_event
from sophon_hosting.runs.run_kinds import AUTONOMY
from sophon_hosting.runs.traces import TRACEPARENT_OPTION
from sophon_hosting.store.contract import host_store
from sophon_hosting.store.runs.contract import AcceptResult, InboundKey, Precondition, Run

if TYPE_CHECKING:
    from sophon.attachments import Attachment
    from sophon.images import Image
    from sophon.messages import ToolCall
    from sophon.stores.sessions.contract import SessionBranch

MAX_RESERVATION_ATTEMPTS = 20
"""Attempts to get a slot while other messages are being stored; a full queue must refuse soon."""

RETRY_CHANNEL = "retry"
"""Channel in the de-duplication key of a task that repeats one that was given up; no platform has this name."""


@dataclass(frozen=True, slots=True)
class RunRequest:
    """Request to accept a message as a run.

    `external_id` is the sender's idempotency key within `channel` and `account`: the same id yields the same task.
    `origin` is the destination of the answer (chat, account), `owner` the user id of the task's owner, `trace` the
    trace id (32 hexadecimal digits), `traceparent` the W3C header of who sent the message. With `session_owner` the
    message is accepted only into a session of that owner. `sent_at` is the time at which a platform got the message.
    `images` and `attachments`, files that the session's owner has uploaded, belong to the text. With `call` the run is
    that tool call, and asks no model; its id is chosen with that of the run. `key` is the de-duplication key of a
    message that no platform has sent. With `autonomy` the run works unattended: nobody decides during its turn what
    that allows. `options` are further ones of the run, by names that the sender alone knows. With `branch` the message
    begins that branch, whose new id is `session_id`. With `precondition` it is accepted only while what it is for is
    stored as it was read.
    """

    text: str
    session_id: str | None = None
    owner: str = ""
    channel: str = "local"
    account: str = ""
    external_id: str | None = None
    origin: Mapping[str, Any] = field(default_factory=new_dict)
    stream: bool = False
    model: str | None = None
    planning: str | None = None
    max_iterations: int | None = None
    temperature: float | None = None
    tags: Sequence[str] = ()
    trace: str | None = None
    traceparent: str | None = None
    instructions: str | None = None
    session_owner: str | None = None
    sent_at: datetime | None = None
    images: "Sequence[Image]" = ()
    attachments: "Sequence[Attachment]" = ()
    call: "ToolCall | None" = None
    key: InboundKey | None = None
    autonomy: str | None = None
    options: Mapping[str, Any] = field(default_factory=new_dict)
    branch: "SessionBranch | None" = None
    precondition: Precondition | None = None

    @property
    def inbound_key(self) -> InboundKey | None:
        """De-duplication key of the message: `key`, or that of the `external_id`; None without either."""
        if self.key is not None:
            return self.key
        return None if self.external_id is None else InboundKey(self.channel, self.account, self.external_id)


@dataclass(frozen=True, slots=True)
class TaskReceipt:
    """Result of `accept`. `position` counts the waiting tasks ahead; `created` is False for a repeated message."""

    task_id: str
    session_id: str
    position: int
    created: bool


class RunAcceptance:
    """Accepts messages as runs. `gate` keeps a session from being deleted while a message for it is accepted.

    Messages with the same key wait for each other. The store finds a known key in the write that would accept the
    message; one that is refused is looked up. So a message that is sent again is never refused, and messages that
    arrive together are stored in their order, because nothing is read in between.

    A queue that cannot be reached refuses no message: the run is stored, and the reconciler enqueues it afterwards.
    """

    def __init__(
        self,
        services: Services,
        queue: TaskQueue,
        event_bus: EventBus,
        gate: DeletionLock,
        accepted_runs: AcceptedRuns,
        health: QueueHealth,
    ) -> None:
        self._accepted_runs, self._health = accepted_runs, health
        self._services, self._host_store = services, host_store(services)
        self._queue, self._event_bus, self._gate = queue, event_bus, gate
        self._rate = MessageRateLimiter(services)
        self._key_locks = KeyLocks[InboundKey]()
        self._writes: dict[asyncio.Future[None], str] = {}
        """Messages that are being stored, with their owners, in their order."""

    async def accept(self, message: RunRequest) -> TaskReceipt:
        """Do what `Host.accept` does; the caller makes sure that a cancellation does not interrupt it."""
        key = message.inbound_key
        if key is None:
            return await self._accept_new(message, None)
        async with self._key_locks.of(key):
            try:
                return await self._accept_new(message, key)
            except SophonError:
                if (accepted := await self.find_accepted(key)) is not None:
                    return accepted
                raise

    async def accept_again(self, run: Run) -> TaskReceipt:
        """Accept the message of a run that was given up as a new run, regardless of the capacity of the queue.

        Of several calls for the same run only the first creates one. Raises ChangedMeanwhile if that was deleted,
        StoreError.
        """
        self._host_store.health.check()
        again = Run(
            id=self._services.clock.new_id(),
            session_id=run.session_id,
            owner=run.owner,
            channel=run.channel,
            origin=run.origin,
            text=run.text,
            options=run.options,
        )
        async with self._gate.accepting(run.session_id):
            repeated = Precondition("run", run.id, run.starts)  # not in a session that was deleted meanwhile
            accepted = await self._store(again, InboundKey(RETRY_CHANNEL, "", run.id), None, precondition=repeated)
            if not accepted.created:
                return await self._repeat_receipt(accepted.run)
            position = await self._enqueue(accepted.run, partial(self._queue.put, force=True))
            return TaskReceipt(accepted.run.id, accepted.run.session_id, position, created=True)

    async def find_accepted(self, key: InboundKey) -> TaskReceipt | None:
        """Return the receipt of the message that was accepted with this key; None if there is none."""
        run = await self._host_store.runs.find_by_key(key)
        return None if run is None else await self._repeat_receipt(run)

    async def _accept_new(self, message: RunRequest, key: InboundKey | None) -> TaskReceipt:
        self._host_store.health.check()
        run = self._run_of(message)
        source = run.session_id if message.branch is None else message.branch.session_id
        async with self._gate.accepting(source), self._gate.accepting(run.session_id):
            with (
                await self._rate.reserve(run.owner, run.channel, message.sent_at) as counted,
                await self._reserve_slot(run.owner) as slot,
            ):
                accepted = await self._store(
                    run, key, message.session_owner, counted, message.branch, message.precondition
                )
                if accepted.created:
                    counted.use(self._services.clock.monotonic())
                    if not self._queue.is_shared:  # else another process may have started it since
                        self._accepted_runs.add(accepted.run)
                    position = await self._enqueue(accepted.run, slot.put)
                    return TaskReceipt(run.id, run.session_id, position, created=True)
        return await self._repeat_receipt(accepted.run)

    async def _store(
        self,
        run: Run,
        key: InboundKey | None,
        session_owner: str | None,
        counted: Reservation | None = None,
        branch: "SessionBranch | None" = None,
        precondition: Precondition | None = None,
    ) -> AcceptResult:
        """Store the run and announce it; before it is put: a worker may start at once, and its events must follow."""
        position = await self._estimate_position(run)
        queued = build_task_queued_event(run, position)
        rates = self._rate.build_events(counted) if counted is not None else []

        async def accept(build_rows: BuildRows) -> Stored[AcceptResult]:
            accepted = await self._host_store.runs.accept(
                run,
                key,
                session_owner=session_owner,
                events=lambda _: build_rows([queued]),
                unit=UnitOfWork([Write(WriteKind.RATE, partial(add_rate_events, events=rates))] if rates else []),
                branch=branch,
                precondition=precondition,
            )
            if accepted.created and session_owner is not None:
                self._event_bus.drop_listeners_of_others(run.session_id, session_owner)
            return accepted, accepted.seq if accepted.created else None

        stored: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._writes[stored] = run.owner
        try:
            return await self._event_bus.commit_events(run.session_id, accept)
        finally:
            del self._writes[stored]
            stored.set_result(None)

    async def _estimate_position(self, run: Run) -> int:
        """Return how many tasks are ahead of a run that is about to be stored, as far as this process knows."""
        # Messages that are being stored are not in the queue yet. Of each other owner one comes before a further one of
        # this owner, because owners take turns.
        owners = list(self._writes.values())
        position = owners.count(run.owner) + len(set(owners) - {run.owner})
        if not self._health.is_available:
            return position
        try:
            with self._health.watch():
                return position + await self._queue.estimate_position(build_queue_entry(run))
        except QueueUnavailable:
            return position

    async def _enqueue(self, run: Run, put: Callable[[QueueEntry], Awaitable[int]]) -> int:
        """Enqueue a stored run and return its position; 0, which is not known, if the queue cannot be reached."""
        if self._queue.is_shared:
            # The process that starts it reads what was emitted; this one would keep it for ever.
            self._event_bus.forget_run(run.session_id, run.id)
        if not self._health.is_available:
            return 0
        try:
            with self._health.watch():
                return await put(build_queue_entry(run))
        except QueueUnavailable:
            return 0

    async def _reserve_slot(self, owner: str) -> ReservedSlot:
        """Reserve a slot; if none is free, again after messages that are being stored: a repeat returns its slot."""
        for _ in range(MAX_RESERVATION_ATTEMPTS):
            try:
                return self._queue.reserve(owner)
            except QueueFull:
                if not self._writes:
                    raise
            await asyncio.wait(set(self._writes), return_when=asyncio.FIRST_COMPLETED)
        return self._queue.reserve(owner)

    async def _repeat_receipt(self, run: Run) -> TaskReceipt:
        position: int | None = None
        with suppress(QueueUnavailable), self._health.watch():
            position = await self._queue.position(run.id)
        return TaskReceipt(run.id, run.session_id, position or 0, created=False)

    def _run_of(self, message: RunRequest) -> Run:
        if not message.text.strip() and not message.attachments:
            raise InputError("the message is empty")
        if message.model is not None:
            self._services.gateway.find(message.model)
        if message.images:
            check_image_count(message.images)
        rounds = message.max_iterations
        options: dict[str, Any] = {
            "stream": message.stream,
            "model": message.model,
            "planning": None if message.planning is None else parse_planning_mode(message.planning),
            "max_iterations": None if rounds is None else check_max_iterations(rounds, self._services.settings),
            "trace": message.trace,
            **({TRACEPARENT_OPTION: message.traceparent} if parse_traceparent(message.traceparent) else {}),
            **({} if message.temperature is None else {"temperature": check_temperature(message.temperature)}),
            **({"tags": check_tags(message.tags)} if message.tags else {}),
            **({"instructions": message.instructions} if message.instructions else {}),
            **({"images": [image.to_json() for image in message.images]} if message.images else {}),
            **({"attachments": [each.to_json() for each in message.attachments]} if message.attachments else {}),
            **({AUTONOMY: message.autonomy} if message.autonomy else {}),
            **message.options,
            **({"call": {"tool": message.call.name, "arguments": message.call.arguments}} if message.call else {}),
        }
        return Run(
            id=self._services.clock.new_id(),
            session_id=message.session_id or self._services.clock.new_id(),
            owner=message.owner,
            channel=message.channel,
            origin={**({"account": message.account} if message.account else {}), **message.origin},
            text=message.text,
            options=options,
        )
