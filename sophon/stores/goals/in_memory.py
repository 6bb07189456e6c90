"""In-memory goals."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice

from sophon.goals.goal import Goal
from sophon.goals.state_machine import GoalState
from sophon.stores.events.in_memory import InMemoryEventLog
from sophon.stores.goals.contract import GoalEvents, GoalWrite
from sophon.stores.sessions.in_memory import InMemorySessionStore


class InMemoryGoalStore:
    """The goals of an `InMemoryStore`; see `GoalStore`."""

    def __init__(self, sessions: InMemorySessionStore) -> None:
        self._sessions = sessions
        self._goals: dict[str, Goal] = {}
        self.event_log: InMemoryEventLog | None = None
        """The log of the events of goals, which is created after the goals."""

    async def add(self, goal: Goal, *, most_live: int | None = None) -> Goal | None:
        """See `GoalStore.add`."""
        return (await self.add_with_events(goal, lambda _: (), most_live=most_live)).goal

    async def change(self, goal: Goal) -> Goal | None:
        """See `GoalStore.change`."""
        return (await self.change_with_events(goal, lambda _: ())).goal

    async def add_with_events(self, goal: Goal, events: GoalEvents, *, most_live: int | None = None) -> GoalWrite:
        """See `GoalStore.add_with_events`."""
        if (known := self._goals.get(goal.id)) is not None:
            return GoalWrite(known)
        if most_live is not None and await self.count_live(goal.owner) >= most_live:
            return GoalWrite(None)
        return await self._store(goal, events)

    async def change_with_events(self, goal: Goal, events: GoalEvents) -> GoalWrite:
        """See `GoalStore.change_with_events`."""
        stored = self._goals.get(goal.id)
        if stored is None or stored.version != goal.version:
            return GoalWrite(None)
        return await self._store(replace(goal, version=goal.version + 1), events)

    async def find(self, goal_id: str) -> Goal | None:
        """See `GoalStore.find`."""
        return self._goals.get(goal_id)

    async def list(
        self,
        *,
        owner: str | None = None,
        session_id: str | None = None,
        states: Collection[GoalState] | None = None,
        limit: int = 100,
    ) -> list[Goal]:
        """See `GoalStore.list`."""
        found = [
            each
            for each in reversed(self._goals.values())
            if owner in (None, each.owner)
            and session_id in (None, each.session_id)
            and (states is None or each.state in states)
        ]
        return found[: max(limit, 0)]

    async def list_live(self) -> Sequence[Goal]:
        """See `GoalStore.list_live`."""
        return sorted((each for each in self._goals.values() if each.is_live), key=lambda each: -each.priority)

    async def count_live(self, owner: str) -> int:
        """See `GoalStore.count_live`."""
        return sum(each.is_live and each.owner == owner for each in self._goals.values())

    async def list_expired(self, before: datetime, limit: int = 100) -> Sequence[Goal]:
        """See `GoalStore.list_expired`."""
        ended = (each for each in self._goals.values() if each.finished_at is not None and each.finished_at < before)
        return list(islice(ended, max(limit, 0)))

    async def remove(self, goal_id: str) -> bool:
        """See `GoalStore.remove`."""
        goal = self._goals.get(goal_id)
        has_ended = goal is not None and goal.finished_at is not None
        if has_ended:
            del self._goals[goal_id]
        return has_ended

    async def _store(self, goal: Goal, events: GoalEvents) -> GoalWrite:
        """Store a goal after its events, which the log may refuse."""
        seq: int | None = 0
        if rows := events(goal):
            assert self.event_log is not None
            has_log = goal.report_session_id in self._sessions
            seq = await self.event_log.append(goal.report_session_id, rows) if has_log else None
        self._goals[goal.id] = goal
        return GoalWrite(goal, seq)

    def find_version(self, goal_id: str) -> int | None:
        """Return the version of a stored goal; None if it does not exist."""
        goal = self._goals.get(goal_id)
        return None if goal is None else goal.version

    def needs_session(self, session_id: str) -> bool:
        """Return whether a live goal reports to a session, or any works in it."""
        return any(
            (each.is_live and each.session_id == session_id) or session_id in each.list_work_sessions()
            for each in self._goals.values()
        )

    def forget_session(self, session_id: str) -> None:
        """Delete the goals of a chat or of a session of work that is deleted, with their other sessions of work."""
        own = self._list_own(session_id)
        for goal in own:
            self._goals.pop(goal.id, None)
        for work_session in [each for goal in own for each in goal.list_work_sessions()]:
            if work_session in self._sessions:
                self._sessions.remove(work_session)

    def list_work_sessions(self, session_id: str) -> Sequence[str]:
        """Return the ids of the sessions that are deleted with a session."""
        return [each for goal in self._list_own(session_id) for each in goal.list_work_sessions()]

    def _list_own(self, session_id: str) -> Sequence[Goal]:
        return [each for each in self._goals.values() if session_id in (each.session_id, each.work_session_id)]

    def forget_person(self, person: str) -> int:
        """Delete the goals of a person; return how many."""
        own = [each.id for each in self._goals.values() if each.owner == person]
        for goal_id in own:
            del self._goals[goal_id]
        return len(own)
