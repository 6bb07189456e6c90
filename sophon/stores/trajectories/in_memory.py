"""In-memory trajectories and feedback."""

from collections.abc import Sequence
from datetime import datetime

from sophon.learning.feedback import Feedback
from sophon.learning.trajectories import Trajectory
from sophon.stores.trajectories.contract import (
    FeedbackResult,
    TrajectoryOrder,
    TrajectoryWrite,
    apply_feedback,
    is_withdrawal,
)


class InMemoryTrajectoryStore:
    """The trajectories of an `InMemoryStore`; see `TrajectoryStore`."""

    def __init__(self) -> None:
        self._rows: dict[str, Trajectory] = {}
        self._feedback: dict[str, dict[str, Feedback]] = {}

    async def add(self, writes: Sequence[TrajectoryWrite]) -> None:
        """See `TrajectoryStore.add`."""
        self.put(writes)

    async def find(self, run_id: str) -> Trajectory | None:
        """See `TrajectoryStore.find`."""
        return self._rows.get(run_id)

    async def list(
        self,
        *,
        order: TrajectoryOrder = "newest",
        limit: int = 100,
        principal: str | None = None,
        session_id: str | None = None,
        at_least: float | None = None,
        below: float | None = None,
    ) -> list[Trajectory]:
        """See `TrajectoryStore.list`."""
        found = [
            each
            for each in reversed(self._rows.values())
            if principal in (None, each.principal)
            and session_id in (None, each.session_id)
            and (at_least is None or each.quality >= at_least)
            and (below is None or each.quality < below)
        ]
        if order != "newest":
            sign = -1 if order == "best" else 1
            found.sort(key=lambda each: sign * each.quality)
        return found[: max(limit, 0)]

    async def count(self) -> int:
        """See `TrajectoryStore.count`."""
        return len(self._rows)

    async def rate(self, feedback: Feedback) -> FeedbackResult:
        """See `TrajectoryStore.rate`."""
        given = self._feedback.setdefault(feedback.run_id, {})
        earlier = given.get(feedback.principal)
        is_same = earlier is not None and (earlier.value, earlier.text) == (feedback.value, feedback.text)
        if is_withdrawal(feedback):
            given.pop(feedback.principal, None)
        elif not is_same:
            given[feedback.principal] = feedback
        before = after = self._rows.get(feedback.run_id)
        if before is not None:
            after = self._rows[feedback.run_id] = apply_feedback(before, [each.value for each in given.values()])
        if not given:
            del self._feedback[feedback.run_id]
        is_changed = earlier is not None if is_withdrawal(feedback) else not is_same
        return FeedbackResult(earlier.value if earlier is not None else None, before, after, is_changed)

    async def list_feedback(self, run_id: str) -> Sequence[Feedback]:
        """See `TrajectoryStore.list_feedback`."""
        return sorted(self._feedback.get(run_id, {}).values(), key=lambda each: (each.at, each.principal))

    async def clear(self) -> int:
        """See `TrajectoryStore.clear`."""
        count = len(self._rows)
        self._rows.clear()
        return count

    async def expire(self, before: datetime) -> int:
        """See `TrajectoryStore.expire`."""
        old = [run_id for run_id, each in self._rows.items() if each.at < before]
        for run_id in old:
            del self._rows[run_id]
        for run_id, given in list(self._feedback.items()):
            kept = self._feedback[run_id] = {name: each for name, each in given.items() if each.at >= before}
            if not kept:
                del self._feedback[run_id]
        return len(old)

    def put(self, writes: Sequence[TrajectoryWrite]) -> None:
        """Store trajectories."""
        for write in writes:
            self._rows.pop(write.trajectory.run_id, None)
            self._rows[write.trajectory.run_id] = write.trajectory
            while len(self._rows) > write.keep:
                del self._rows[next(iter(self._rows))]

    def forget_session(self, session_id: str) -> None:
        """Delete what belongs to a session that is deleted."""
        self._rows = {key: each for key, each in self._rows.items() if each.session_id != session_id}
        for run_id, given in list(self._feedback.items()):
            if any(each.session_id == session_id for each in given.values()):
                del self._feedback[run_id]

    def forget_person(self, person: str) -> Sequence[str]:
        """Delete the trajectories of a person; return their run ids."""
        own = [run_id for run_id, each in self._rows.items() if each.principal == person]
        for run_id in own:
            del self._rows[run_id]
        return own

    def forget_feedback(self, person: str) -> int:
        """Delete the feedback of a person; return how much there was."""
        count = sum(given.pop(person, None) is not None for given in self._feedback.values())
        self._feedback = {run_id: given for run_id, given in self._feedback.items() if given}
        return count
