"""Goal writer: stores a new or changed goal together with the event that reports it, so that a kill loses neither."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar, runtime_checkable

from sophon.events import Emit, Event, GoalChanged
from sophon.goals.goal import Goal

T = TypeVar("T")

BuildRows: TypeAlias = Callable[[Sequence[Event]], Sequence[Any]]
"""Builds the rows of events, as the event log stores them."""


@runtime_checkable
class EventCommitter(Protocol):
    """Publishes events that are stored together with what they report; the event bus of a host is one."""

    async def commit_events(self, session_id: str, write: Callable[[BuildRows], Awaitable[tuple[T, int | None]]]) -> T:
        """Let `write` store the rows that it has built, then publish their events. Raises its errors.

        `write` returns its result and the session's last event seq, None if it has stored no events.
        """
        ...


class EmittingCommitter:
    """Emits events after the write, and stores none: for a chain without a host, which has no log to replay."""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit

    async def commit_events(self, session_id: str, write: Callable[[BuildRows], Awaitable[tuple[T, int | None]]]) -> T:
        """See `EventCommitter.commit_events`."""
        reported: list[Event] = []

        def keep(events: Sequence[Event]) -> Sequence[Any]:
            reported[:] = events
            return ()

        result, seq = await write(keep)
        for event in reported if seq is not None else ():
            self._emit(event)
        return result


class GoalWrite(Protocol):
    """Result of a write; see `sophon.stores.goals.GoalWrite`."""

    @property
    def goal(self) -> Goal | None: ...
    @property
    def seq(self) -> int | None: ...


class GoalRepository(Protocol):
    """The part of `sophon.stores.goals.GoalStore` that writes and finds goals."""

    async def add_with_events(
        self, goal: Goal, events: Callable[[Goal], Sequence[Any]], *, most_live: int | None = None
    ) -> GoalWrite: ...
    async def change_with_events(self, goal: Goal, events: Callable[[Goal], Sequence[Any]]) -> GoalWrite: ...
    async def find(self, goal_id: str) -> Goal | None: ...


class GoalWriter:
    """Writes goals with their events. Without a log, as of a chat that does not exist, a change has no event."""

    def __init__(self, goals: GoalRepository, events: EventCommitter) -> None:
        self._goals, self._events = goals, events

    async def add(self, goal: Goal, *, most_live: int | None = None) -> Goal | None:
        """Add a goal as `GoalStore.add` does, with its event."""
        return await self._commit(goal, lambda rows: self._goals.add_with_events(goal, rows, most_live=most_live))

    async def change(self, goal: Goal, *, step: str = "", step_status: str = "") -> Goal | None:
        """Change a goal as `GoalStore.change` does, with its event."""
        return await self._commit(
            goal, lambda rows: self._goals.change_with_events(goal, rows), step=step, step_status=step_status
        )

    async def _commit(
        self,
        goal: Goal,
        store: Callable[[Callable[[Goal], Sequence[Any]]], Awaitable[GoalWrite]],
        *,
        step: str = "",
        step_status: str = "",
    ) -> Goal | None:
        async def write(build_rows: BuildRows) -> tuple[Goal | None, int | None]:
            result = await store(lambda new: build_rows([build_event(new, step=step, step_status=step_status)]))
            return result.goal, result.seq

        return await self._events.commit_events(goal.report_session_id, write)


def build_event(goal: Goal, *, step: str = "", step_status: str = "") -> GoalChanged:
    """Return the event of a change, for the chat that the goal reports to."""
    return GoalChanged(
        session_id=goal.report_session_id,
        goal_id=goal.id,
        state=goal.state,
        reason=goal.reason,
        title=goal.title,
        progress=goal.progress,
        step=step,
        step_status=step_status,
    )
