"""Writes the end of a turn as a host must: the answer, the run's outcome and what leaves, all in one transaction."""

import logging
from collections.abc import Sequence

from sophon.context import Context
from sophon.stores.contracts import SessionRecord
from sophon.turn_log import SessionLog, TurnEnd
from sophon_hosting.runs.jobs import Job, Jobs
from sophon_hosting.runs.leaving import WhatLeaves, answer, outcome_of

log = logging.getLogger("sophon")


class RunLog:
    """The `TurnLog` of a host. A turn that is no job of it, and one that suspends, are written as without a host.

    A turn that was cut off by its time limit or by the end of the process is not cancelled: only a person does that.
    Its worker knows what becomes of it.
    """

    def __init__(self, jobs: Jobs, leaving: WhatLeaves = answer) -> None:
        self._jobs, self._leaving = jobs, leaving
        self._session = SessionLog()

    async def conclude(self, ctx: Context, records: Sequence[SessionRecord], end: TurnEnd, /) -> int | None:
        """See `TurnLog.conclude`. None too when the run had its outcome before, or the store has just refused one."""
        job = self._jobs.get(ctx.run_id)
        if job is None or end.status == "suspended":
            return await self._session.conclude(ctx, records, end)
        if job.unwritten or (end.status == "cancelled" and not job.cancel_wanted):
            return None
        return await self._finish(job, ctx, records, end)

    async def _finish(self, job: Job, ctx: Context, records: Sequence[SessionRecord], end: TurnEnd) -> int | None:
        assert job.run is not None
        outcome = outcome_of(end)
        leaving = self._leaving(job.run, outcome)
        job.end()
        try:
            finished = await ctx.services.store.runs.finish(
                ctx.run_id, outcome, records=records, outbound=leaving.outbound, events=leaving.events
            )
        except Exception:
            job.unwritten = True
            if end.status == "completed":
                raise
            log.exception("the outcome of run %s could not be recorded", ctx.run_id)
            return None
        job.concluded = True
        return finished.recorded if finished.first else None
