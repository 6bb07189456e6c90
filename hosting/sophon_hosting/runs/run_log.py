"""Writes the end of a turn as a host must: the answer, the run's outcome and what leaves, all in one transaction."""

import logging
from collections.abc import Sequence

from sophon.context import TurnFacts
from sophon.context.turn_log import Emit, SessionLog, TurnEnd
from sophon.events import Event
from sophon.stores.contracts import SessionRecord, Store
from sophon.stores.run_contracts import Finished, Run
from sophon_hosting.events.feed import EventFeed
from sophon_hosting.runs.jobs import Job, Jobs
from sophon_hosting.runs.leaving import WhatLeaves, answer, outcome_of

log = logging.getLogger("sophon")


class Outcomes:
    """The one place where the outcome of a run is written; its last events leave after it, in their order."""

    def __init__(self, store: Store, feed: EventFeed, leaving: WhatLeaves = answer) -> None:
        self._store, self._feed, self._leaving = store, feed, leaving

    async def write(self, job: Job, run: Run, records: Sequence[SessionRecord], end: TurnEnd) -> Finished:
        """Keep it, and tell it if it is the first. Raises StoreError, NotFound."""
        outcome = outcome_of(end)
        outbound = self._leaving(run, outcome)
        job.end()

        def events(recorded: int) -> Sequence[Event]:
            made = end.events(recorded)
            for event in made:
                event.session_id, event.task_id, event.run_id = run.session_id, run.id, run.id
            return made

        finished = await self._feed.conclude(
            run.session_id,
            events,
            lambda rows: self._store.runs.finish(run.id, outcome, records=records, outbound=outbound, events=rows),
        )
        job.concluded = True
        return finished


class RunLog:
    """The `TurnLog` of a host. A turn that is no job of it, and one that suspends, are written as without a host.

    A turn that was cut off by its time limit or by the end of the process is not cancelled: only a person does that.
    Its worker knows what becomes of it.
    """

    def __init__(self, jobs: Jobs, outcomes: Outcomes, store: Store) -> None:
        self._jobs, self._outcomes = jobs, outcomes
        self._session = SessionLog(store)

    async def conclude(self, turn: TurnFacts, records: Sequence[SessionRecord], end: TurnEnd, emit: Emit, /) -> bool:
        """See `TurnLog.conclude`. False too when the run had its outcome before, or the store has just refused one."""
        job = self._jobs.get(turn.run_id)
        if job is None or job.run is None or end.status == "suspended":
            return await self._session.conclude(turn, records, end, emit)
        if job.unwritten or (end.status == "cancelled" and not job.cancel_wanted):
            return False
        try:
            return (await self._outcomes.write(job, job.run, records, end)).first
        except Exception:
            job.unwritten = True
            if end.status == "completed":
                raise
            log.exception("the outcome of run %s could not be recorded", turn.run_id)
            return False
