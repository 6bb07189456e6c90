"""SQL trajectories: a row per run, and a row per person who said something about its answer."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy import Connection, RowMapping, delete, insert, select, update

from sophon.learning.feedback import Feedback
from sophon.learning.trajectories import Trajectory
from sophon.stores.sql.batched_deletion import EXPIRE_BATCH_SIZE, delete_in_batches, recheck_and_delete_in_batches
from sophon.stores.sql.repository import Repository, matching
from sophon.stores.sql.schema import feedback as feedback_table
from sophon.stores.sql.schema import trajectories
from sophon.stores.trajectories.trajectory_write import (
    FeedbackResult,
    TrajectoryOrder,
    TrajectoryWrite,
    apply_feedback,
    apply_score,
    is_withdrawal,
)
from sophon.stores.unit_of_work import WriteKind

_OWN_COLUMNS = ("run_id", "session_id", "principal", "task_type", "at", "quality", "feedback")
"""Fields of a trajectory with a column of their own; the others are in `data`."""

_DATA_FIELDS = (
    *("request", "reply", "complexity", "tier", "model", "strategy", "finish_reason", "tools", "scores"),
    *("cost_micro_usd", "duration_ms", "output_tokens", "judge"),
)


class TrajectoryStore(Repository):
    """Repository of trajectories by run, and of feedback by run and person. Both are deleted with their session."""

    async def add(self, writes: Sequence[TrajectoryWrite]) -> None:
        """Store trajectories, all or none; one of a known run replaces it."""
        if writes:
            await self._database.add(WriteKind.TRAJECTORY, partial(add_trajectories, writes=tuple(writes)))

    async def find(self, run_id: str) -> Trajectory | None:
        """Return the trajectory of a run."""
        return await self._database.read(partial(_find, run_id=run_id))

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
        """Return trajectories with a quality of `at_least` and `below`; the newest first among equals.

        By quality, those that nobody has judged come last.
        """
        query = select(trajectories).limit(max(limit, 0))
        if order != "newest":
            quality = trajectories.c.quality
            query = query.order_by((quality.desc() if order == "best" else quality).nulls_last())
        query = query.order_by(trajectories.c.number.desc())
        query = query.where(*matching({trajectories.c.principal: principal, trajectories.c.session_id: session_id}))
        if at_least is not None:
            query = query.where(trajectories.c.quality >= at_least)
        if below is not None:
            query = query.where(trajectories.c.quality < below)
        rows = await self._database.read(lambda connection: connection.execute(query).mappings().all())
        return [_to_trajectory(row) for row in rows]

    async def rate(self, feedback: Feedback) -> FeedbackResult:
        """Store what a person says about the answer of a run, instead of what they said before; a value of 0 without
        a text takes it back. The trajectory of the run, if there is one, gets its new quality.
        """
        return await self._database.write(partial(_rate, feedback=feedback))

    async def score(self, run_id: str, scores: Mapping[str, float], judge: str) -> Trajectory | None:
        """Give the trajectory of a run the scores of a judge; return it, None if there is none any more."""
        return await self._database.write(partial(_score, run_id=run_id, scores=scores, judge=judge))

    async def list_feedback(self, run_id: str) -> Sequence[Feedback]:
        """Return the feedback on a run, oldest first."""
        return await self._database.read(partial(_list_feedback, run_id=run_id))

    async def expire(self, before: datetime) -> int:
        """Delete trajectories, and feedback that is older; return how many trajectories.

        Uses a transaction per batch.
        """
        said = select(feedback_table.c.run_id, feedback_table.c.principal).where(feedback_table.c.at < before)
        await recheck_and_delete_in_batches(self._database, said.order_by(feedback_table.c.at))
        old = select(trajectories.c.number).where(trajectories.c.at < before).order_by(trajectories.c.number)
        return await delete_in_batches(self._database, trajectories.c.number, old)


def add_trajectories(connection: Connection, writes: Sequence[TrajectoryWrite]) -> None:
    """Store trajectories and delete the oldest beyond the bound, in the caller's transaction."""
    for write in writes:
        trajectory = write.trajectory
        connection.execute(delete(trajectories).where(trajectories.c.run_id == trajectory.run_id))
        key = connection.execute(insert(trajectories), _row(trajectory)).inserted_primary_key
        assert key is not None
        # The numbers of deleted sessions leave gaps, so that at most `keep` stay. In a batch: it may be lower now.
        beyond = select(trajectories.c.number).where(trajectories.c.number <= key[0] - write.keep)
        oldest = beyond.order_by(trajectories.c.number).limit(EXPIRE_BATCH_SIZE)
        connection.execute(delete(trajectories).where(trajectories.c.number.in_(oldest)))


def _find(connection: Connection, run_id: str) -> Trajectory | None:
    row = connection.execute(select(trajectories).where(trajectories.c.run_id == run_id)).mappings().one_or_none()
    return None if row is None else _to_trajectory(row)


def _rate(connection: Connection, feedback: Feedback) -> FeedbackResult:
    given = {each.principal: each for each in _list_feedback(connection, feedback.run_id)}
    earlier = given.pop(feedback.principal, None)
    is_same = earlier is not None and (earlier.value, earlier.text) == (feedback.value, feedback.text)
    own = (feedback_table.c.run_id == feedback.run_id) & (feedback_table.c.principal == feedback.principal)
    if earlier is not None and not is_same:
        connection.execute(delete(feedback_table).where(own))
    if not is_withdrawal(feedback):
        given[feedback.principal] = feedback
        if not is_same:
            connection.execute(insert(feedback_table), {name: getattr(feedback, name) for name in _FEEDBACK_COLUMNS})
    before = after = _find(connection, feedback.run_id)
    if before is not None:
        after = apply_feedback(before, [each.value for each in given.values()])
        changed = {"quality": after.quality, "feedback": after.feedback}
        connection.execute(update(trajectories).where(trajectories.c.run_id == feedback.run_id).values(changed))
    is_changed = earlier is not None if is_withdrawal(feedback) else not is_same
    return FeedbackResult(earlier.value if earlier is not None else None, before, after, is_changed)


def _score(connection: Connection, run_id: str, scores: Mapping[str, float], judge: str) -> Trajectory | None:
    before = _find(connection, run_id)
    if before is None:
        return None
    after = apply_score(before, scores, judge)
    row = _row(after)
    changed = {"quality": row["quality"], "data": row["data"]}
    connection.execute(update(trajectories).where(trajectories.c.run_id == run_id).values(changed))
    return after


_FEEDBACK_COLUMNS = ("run_id", "principal", "session_id", "value", "text", "source", "at")


def _list_feedback(connection: Connection, run_id: str) -> list[Feedback]:
    query = select(feedback_table).where(feedback_table.c.run_id == run_id)
    rows = connection.execute(query.order_by(feedback_table.c.at, feedback_table.c.principal)).mappings()
    return [Feedback(**{name: row[name] for name in _FEEDBACK_COLUMNS}) for row in rows]


def _row(trajectory: Trajectory) -> dict[str, Any]:
    own = {name: getattr(trajectory, name) for name in _OWN_COLUMNS}
    data = {name: getattr(trajectory, name) for name in _DATA_FIELDS}
    return own | {"data": data | {"tools": list(trajectory.tools), "scores": dict(trajectory.scores or {})}}


def _to_trajectory(row: RowMapping) -> Trajectory:
    own = {name: row[name] for name in _OWN_COLUMNS}
    data: dict[str, Any] = {name: row["data"][name] for name in _DATA_FIELDS}
    data["tools"] = tuple(data["tools"])
    return Trajectory(**own, **data)
