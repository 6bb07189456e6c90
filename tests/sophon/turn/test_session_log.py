"""The seam for a host: each end of a turn goes through the turn log, and events leave after it, or not at all."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, nullcontext

import pytest

from sophon import Pipeline, Response, Services
from sophon.context import TurnFacts
from sophon.context.turn_log import ClaimedTurn, TurnEnd, TurnEvents
from sophon.events import Emit, Message, TaskCompleted, TaskFailed
from sophon.stores.in_memory_store import InMemoryStore
from sophon.stores.sessions.contract import SessionRecord
from sophon.testing import EventRecorder, VirtualClock
from sophon.turn.session_log import SessionLog
from sophon_middlewares import SessionEvents
from tests.tables import table


class Witness:
    """A log that notes what it is given, and what had been told by then; it counts an end, or does not."""

    def __init__(self, events: EventRecorder, *, counts: bool = True) -> None:
        self.events, self.counts = events, counts
        self.store = InMemoryStore(clock=VirtualClock())
        self.ends: list[tuple[str, list[str]]] = []
        self.told: list[str] = []

    async def begin(self, turn: TurnFacts, records: Sequence[SessionRecord], events: TurnEvents, emit: Emit, /) -> None:
        await SessionLog(self.store).begin(turn, records, events, emit)

    def claim(self, ctx: ClaimedTurn, /) -> AbstractAsyncContextManager[None]:
        return nullcontext()

    async def conclude(self, turn: TurnFacts, records: Sequence[SessionRecord], end: TurnEnd, emit: Emit, /) -> bool:
        self.ends.append((end.status, [record.kind for record in records]))
        self.told = [type(event).__name__ for event in self.events.events]
        return await SessionLog(self.store).conclude(turn, records, end, emit) if self.counts else False


def services(log: Witness) -> Services:
    return Services(events=log.events, turn_log=log, store=log.store, clock=VirtualClock())


async def run(log: Witness, finish_reason: str) -> None:
    async def end(ctx, next):
        if finish_reason == "error":
            raise RuntimeError("broken")
        ctx.response = Response(text="fine", finish_reason=finish_reason)

    chain = Pipeline.compose(SessionEvents(), end)
    await chain.run(services(log).turn("hello", session_id="s"))


@table(
    ("finish_reason", "end"),
    [
        ("stop", ("completed", ["message"])),
        ("rejected", ("completed", ["message", "refused"])),
        ("suspended", ("suspended", ["suspended"])),
    ],
)
async def test_each_end_goes_through_the_log_before_it_is_told(finish_reason: str, end: tuple[str, list[str]]) -> None:
    log = Witness(EventRecorder())
    await run(log, finish_reason)
    assert log.ends == [end]
    assert log.told == ["TaskStarted", "Message"]
    assert len(log.events.of(TaskCompleted)) == (finish_reason != "suspended")


async def test_a_failure_goes_through_the_log_too() -> None:
    log = Witness(EventRecorder())
    with pytest.raises(RuntimeError):
        await run(log, "error")
    assert log.ends == [("failed", ["failed"])]
    assert len(log.events.of(TaskFailed)) == 1


async def test_an_end_that_does_not_count_is_not_told() -> None:
    log = Witness(EventRecorder(), counts=False)
    await run(log, "stop")
    with pytest.raises(RuntimeError):
        await run(log, "error")
    assert log.events.of(TaskCompleted) == log.events.of(TaskFailed) == []
    assert [event.role for event in log.events.of(Message)] == ["user", "user"]


async def test_a_run_id_that_is_given_is_the_turns() -> None:
    assert Services().turn("hello", run_id="t1").run_id == "t1"
