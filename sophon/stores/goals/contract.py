"""The contract of the goals: each with a version, so that of two changes of the same state only one is stored."""

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import Protocol, TypeAlias

from sophon._python.lazy_dataclass import dataclass
from sophon.goals.goal import Goal
from sophon.goals.state_machine import GoalState
from sophon.stores.events.contract import LoggedEvent

GoalEvents: TypeAlias = Callable[[Goal], Sequence[LoggedEvent]]
"""Builds the rows of the events of a change, from the goal as it is stored."""


@dataclass(frozen=True, slots=True)
class GoalWrite:
    """Result of a write with events: the goal as it is stored, None if nothing was.

    `seq` is that of the last event; None if the goal's chat does not exist, so that there is no log of events.
    """

    goal: Goal | None
    seq: int | None = 0


class GoalStore(Protocol):
    """Repository of goals. Each is deleted with the chat that it reports to, and with the session that it works in."""

    async def add(self, goal: Goal, *, most_live: int | None = None) -> Goal | None:
        """Store a new goal and return it; one with a known id returns what is stored.

        None, and nothing is stored, if its owner has `most_live` goals already that are planning, active or paused.
        """
        ...

    async def add_with_events(self, goal: Goal, events: GoalEvents, *, most_live: int | None = None) -> GoalWrite:
        """Do as `add`, and store the events of a new goal in the same transaction, in the log of its chat.

        A goal with a known id is returned without events.
        """
        ...

    async def change_with_events(self, goal: Goal, events: GoalEvents) -> GoalWrite:
        """Do as `change`, and store the events in the same transaction, in the log of the goal's chat."""
        ...

    async def change(self, goal: Goal) -> Goal | None:
        """Store a changed goal and return it with its next version.

        None, and nothing is stored, if what is stored has another version than `goal`, or was deleted.
        """
        ...

    async def find(self, goal_id: str) -> Goal | None:
        """Return one goal; None if it does not exist."""
        ...

    async def list(
        self,
        *,
        owner: str | None = None,
        session_id: str | None = None,
        states: Collection[GoalState] | None = None,
        limit: int = 100,
    ) -> list[Goal]:
        """Return goals of one owner, chat or of some states, or all, newest first."""
        ...

    async def list_live(self) -> Sequence[Goal]:
        """Return all goals that are planning, active or paused: the highest priority first, then the oldest."""
        ...

    async def list_expired(self, before: datetime, limit: int = 100) -> Sequence[Goal]:
        """Return goals that ended before a time, the oldest first."""
        ...

    async def remove(self, goal_id: str) -> bool:
        """Delete a goal that has ended, and not the sessions that it worked in; return whether there was one."""
        ...
