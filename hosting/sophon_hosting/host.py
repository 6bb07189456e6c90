"""The host without its doors: accepts messages, works them off, takes decisions and cancels, within one process."""

import asyncio
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self

from sophon.errors import InputError
from sophon.pipeline import Pipeline
from sophon.services import Services, planning_mode
from sophon.stores.run_contracts import Accepted, InboundKey, Run
from sophon_hosting.approvals import Approvals, StoreGate
from sophon_hosting.events.feed import EventFeed
from sophon_hosting.queue.contract import QueueEntry, TaskQueue
from sophon_hosting.queue.memory import MemoryQueue
from sophon_hosting.runs.checkpoints import with_checkpoints
from sophon_hosting.runs.endings import Endings
from sophon_hosting.runs.jobs import Jobs
from sophon_hosting.runs.leaving import WhatLeaves, answer
from sophon_hosting.runs.preparing import Prepare, as_it_is
from sophon_hosting.runs.recovery import Recovery, queued
from sophon_hosting.runs.run_log import Outcomes, RunLog
from sophon_hosting.runs.sweep import Sweep
from sophon_hosting.worker import Worker

CANCEL_SECONDS = 1.0
"""Whoever cancels has an answer within this time. Source: reference/queues.md."""

GRACE_SECONDS = 30.0
"""What runs has so long to end when the host stops."""


@dataclass(frozen=True, slots=True)
class Incoming:
    """A message on its way in.

    `external_id` is the sender's own id of it, within channel and `account`: the same one again is the same task.
    `origin` says where the answer goes (chat, account), `owner` whose the task is, `trace` the trace that it belongs
    to (32 hexadecimal digits).
    """

    text: str
    session_id: str | None = None
    owner: str = ""
    channel: str = "local"
    account: str = ""
    external_id: str | None = None
    origin: Mapping[str, Any] = field(default_factory=lambda: {})
    stream: bool = False
    model: str | None = None
    planning: str | None = None
    trace: str | None = None
    instructions: str | None = None


@dataclass(frozen=True, slots=True)
class Receipt:
    """What the sender is told. `position` counts the waiting tasks before it; `created` is False for a repetition."""

    task_id: str
    session_id: str
    position: int
    created: bool


class Host:
    """Services, a chain and a queue, put to work; the services' gate and turn log become those of the host.

    `queue` is one in memory of `Queue.Capacity` by default. `approvers` may decide besides the owner of a run.
    `leaving` is what the end of a run sends, `prepare` is done for a run before its turn. As a context manager it opens
    everything, recovers, works, and stops at the end.
    """

    def __init__(
        self,
        services: Services,
        chain: Pipeline,
        *,
        queue: TaskQueue | None = None,
        approvers: Collection[str] = (),
        leaving: WhatLeaves = answer,
        prepare: Prepare = as_it_is,
    ) -> None:
        self.services, self.chain = services, chain
        self.queue: TaskQueue = queue or MemoryQueue(services.settings.queue.capacity, clock=services.clock)
        jobs = self._jobs = Jobs()
        self.feed = EventFeed(services.store.events, services.clock, services.events)
        outcomes = Outcomes(services.store, self.feed, leaving)
        self._gate = StoreGate(services.store, services.clock, jobs)
        services.watched_by(self.feed)
        services.approvals, services.turn_log = self._gate, RunLog(jobs, outcomes, services.store)
        self.approvals = Approvals(
            services.store,
            self.queue,
            clock=services.clock,
            settings=services.settings.approval,
            tools=services.registry,
            approvers=approvers,
            events=self.feed,
        )
        self._endings = Endings(services, chain, self.queue, jobs, outcomes)
        self._worker = Worker(
            services, with_checkpoints(chain, jobs), self.queue, jobs, self._endings, self.feed, prepare
        )
        self.stopping = False
        """From the beginning of `stop` on: what is sent now would not be begun here any more."""
        self.working = False
        """Between `start` and `stop`."""
        self._watches: list[asyncio.Task[None]] = []

    async def accept(self, message: Incoming) -> Receipt:
        """Keep a message and put it into the queue; once this returns it is never lost.

        Raises QueueFull before anything is written, InputError for an empty message or an unknown planning mode,
        NotFound for an unknown model. Done even if the caller is cancelled while it waits.
        """
        run = self._run_of(message)
        key = None
        if message.external_id is not None:
            key = InboundKey(message.channel, message.account, message.external_id)
        return await asyncio.shield(asyncio.ensure_future(self._accept(run, key)))

    async def cancel(self, task_id: str) -> Run:
        """End a task, and give its run as it then is: over, or within a second still on its way to its end.

        Raises NotFound. One that has its outcome keeps it.
        """
        runs = self.services.store.runs
        run = await runs.request_cancel(task_id)
        while not run.over:
            job = self._jobs.get(task_id)
            if job is None:
                await self._endings.cancel_at_rest(run)
            else:
                job.cancel()
                try:
                    async with self.services.clock.timeout(CANCEL_SECONDS):
                        await job.over.wait()
                except TimeoutError:
                    return await runs.get(task_id)
            run = await runs.get(task_id)
        return run

    async def start(self) -> None:
        """Take up what was left unfinished, then work."""
        await self.queue.open()
        self._worker.cut_off |= await Recovery(self.services, self.queue, self._endings, self.feed).recover()
        sweep = Sweep(self.services, self.queue, self._jobs, self._endings)
        self._watches = [
            asyncio.create_task(self.approvals.watch(self._gate)),
            asyncio.create_task(sweep.watch()),
        ]
        self._worker.start()
        self.working = True

    async def stop(self, *, grace_seconds: float = GRACE_SECONDS) -> None:
        """Take nothing more, let what runs end, leave what does not end in time to the next start."""
        self.stopping, self.working = True, False
        await self._worker.stop(grace_seconds)
        for watch in self._watches:
            watch.cancel()
            with suppress(asyncio.CancelledError):
                await watch
        self._watches = []
        await self.feed.aclose()
        await self.queue.close()

    async def pause(self) -> None:
        """Begin no more turns; what is sent goes on being accepted."""
        await self.queue.pause()

    async def resume(self) -> None:
        """Go on after `pause`; calls off a drain."""
        await self.queue.resume()

    async def drain(self) -> bool:
        """Pause, and wait for what runs to end. False: called off by `resume`."""
        return await self.queue.drain()

    async def __aenter__(self) -> Self:
        await self.services.open()
        await self.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        try:
            await self.stop()
        finally:
            await self.services.close()

    async def _accept(self, run: Run, key: InboundKey | None) -> Receipt:
        with self.queue.reserve() as place:
            accepted: Accepted = await self.services.store.runs.accept(run, key)
            kept = accepted.run
            position = await self.queue.position(kept.id) or 0
            if accepted.created:
                # Before the queue has it: a worker may begin at once, and that is told after this.
                position = (await self.queue.statistics()).waiting
                self.feed.emit(queued(kept, position))
                position = await place.put(QueueEntry(kept.id, kept.session_id))
        return Receipt(kept.id, kept.session_id, position, accepted.created)

    def _run_of(self, message: Incoming) -> Run:
        if not message.text.strip():
            raise InputError("the message is empty: write something")
        if message.model is not None:
            self.services.gateway.find(message.model)
        options: dict[str, Any] = {
            "stream": message.stream,
            "model": message.model,
            "planning": planning_mode(message.planning),
            "trace": message.trace,
            **({"instructions": message.instructions} if message.instructions else {}),
        }
        return Run(
            id=self.services.clock.new_id(),
            session_id=message.session_id or self.services.clock.new_id(),
            owner=message.owner,
            channel=message.channel,
            origin={**({"account": message.account} if message.account else {}), **message.origin},
            text=message.text,
            options=options,
        )
