"""Start of a run: whether it begins, here or in its chain."""

from sophon.services import Services
from sophon.stores.run_fence import RunFence
from sophon_hosting.events.event_bus import EventBus
from sophon_hosting.runs.active_runs import ActiveRun
from sophon_hosting.runs.outcomes import begin_fence
from sophon_hosting.store.contract import host_store
from sophon_hosting.store.runs.contract import BeginResult, BeginVerdict, Run
from sophon_hosting.store.runs.transitions import begin_run


class RunStarter:
    """Begins runs that were delivered.

    `begins_in_chain`: the chain begins a run, with the first records of its turn.
    """

    def __init__(self, services: Services, event_bus: EventBus, *, begins_in_chain: bool) -> None:
        self._services, self._event_bus, self._begins_in_chain = services, event_bus, begins_in_chain

    async def begin(self, active_run: ActiveRun, stored: Run) -> BeginVerdict:
        """Begin the run, unless its chain does that with the first records of the turn. Raises NotFound, StoreError."""
        start = begin_run(stored, self._services.clock.now())
        active_run.must_begin = start.verdict == "begun" and self._begins_in_chain and start.run.checkpoint is None
        if start.verdict == "begun" and not active_run.must_begin:
            start = await self._begin_in_store(active_run, stored)
        active_run.run, active_run.waits_for = start.run, start.waits_for
        # A killed process may have left a question that a running call had asked.
        active_run.may_have_asked = start.run.starts > 1
        if start.verdict == "begun" and not active_run.must_begin:
            begin_fence(active_run, self._event_bus)
        return start.verdict

    async def _begin_in_store(self, active_run: ActiveRun, stored: Run) -> BeginResult:
        # Before the write, which completes also if the turn is cancelled meanwhile.
        active_run.fence = RunFence(stored.id, stored.starts + 1)
        now = self._services.clock.now()
        start = await host_store(self._services).runs.begin(
            stored.id, now, seen_starts=stored.starts, seen_text=stored.text
        )
        if start.verdict != "begun":
            active_run.fence = None
        return start
