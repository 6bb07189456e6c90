"""A process that stood still behind the stored start of a call begins the tool only if the run is still its own."""

import asyncio

import pytest

from sophon.stores.run_fence import StaleRun
from sophon.testing.simulation import SimulatedClock, SimulatedLoop, SimulatedProcess, simulate
from sophon.testing.simulation.database import SimulatedDatabase, SimulatedServer, simulated_server_facts
from sophon_hosting.events.event_bus import EventBus
from sophon_hosting.runs.active_runs import ActiveRun
from sophon_hosting.runs.outcomes import begin_fence
from sophon_hosting.runs.turn_store import TurnStore
from sophon_hosting.store.runs.contract import Run, RunOutcome
from sophon_hosting.store.sql_host_store import SqlHostStore

RENEWAL_SECONDS = 10.0


class World:
    """Two processes over one database; the first one stands still just behind a write of its own."""

    def __init__(self, loop: SimulatedLoop, stall_seconds: float) -> None:
        self.loop, self.stall_seconds, self.writes = loop, stall_seconds, 0
        self.is_watched = False
        self.server = SimulatedServer(loop, on_write=self._note)

    def _note(self, process: SimulatedProcess | None) -> None:
        if self.is_watched and process is not None and process.name == "first":
            self.writes += 1
            if self.writes == 1 and self.stall_seconds:
                self.loop.stop_process(process, self.stall_seconds)

    async def open_store(self) -> SqlHostStore:
        """Open a store of the calling process."""
        clock = SimulatedClock(self.loop)
        store = SqlHostStore("memory://", clock=clock, database=SimulatedDatabase(self.server, clock))
        await store.open()
        return store

    async def start_call(self, renewal_seconds: float | None) -> float:
        """Begin a run and then a call of it, in the first process; return when its tool may begin."""
        store, clock = await self.open_store(), SimulatedClock(self.loop)
        session = await store.sessions.get_or_create("s", "ada")
        run = (await store.runs.accept(Run("r", session.id, "ada"))).run
        active_run = ActiveRun("r", (await store.runs.begin(run.id, clock.now())).run, renewal_seconds=renewal_seconds)
        bus = EventBus(store.events, store.runs, clock)
        begin_fence(active_run, bus)
        self.is_watched = True
        await TurnStore(active_run, "s", bus, store, clock).journal.start("r", "c1", "pay")
        return self.loop.time()

    async def continue_elsewhere(self) -> None:
        """Begin the run again, and end it, in another process."""
        store = await self.open_store()
        begun = await store.runs.begin("r", SimulatedClock(self.loop).now())
        await store.runs.finish("r", RunOutcome("completed", {"text": "done"}), start=begun.run.starts)


def stall(stall_seconds: float, *, is_continued: bool, renewal_seconds: float | None) -> tuple[float, int]:
    """When the tool may begin, and how often its start was written."""

    async def main(loop: SimulatedLoop) -> tuple[float, int]:
        world = World(loop, stall_seconds)
        _, starting = loop.start_process("first", world.start_call(renewal_seconds))
        await asyncio.sleep(5.0)
        if is_continued:
            await loop.start_process("second", world.continue_elsewhere())[1]
        return await starting, world.writes

    with simulated_server_facts():
        return simulate(main, 1)


def test_a_process_that_stood_still_for_long_begins_no_tool_of_a_run_that_others_have_continued() -> None:
    with pytest.raises(StaleRun):
        stall(30.0, is_continued=True, renewal_seconds=RENEWAL_SECONDS)


def test_without_the_second_write_it_would() -> None:
    began, writes = stall(30.0, is_continued=True, renewal_seconds=None)
    assert began > 30.0
    assert writes == 1


def test_it_begins_the_tool_if_the_run_is_still_its_own() -> None:
    began, writes = stall(30.0, is_continued=False, renewal_seconds=RENEWAL_SECONDS)
    assert 30.0 < began < 31.0
    assert writes == 2


@pytest.mark.parametrize("stall_seconds", [0.0, 9.0])
def test_a_start_that_no_lease_can_have_ended_in_is_written_once(stall_seconds: float) -> None:
    began, writes = stall(stall_seconds, is_continued=False, renewal_seconds=RENEWAL_SECONDS)
    assert stall_seconds < began < stall_seconds + 1.0
    assert writes == 1
