"""What every store promises about trajectories and feedback."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from sophon.learning.feedback import Feedback
from sophon.learning.hashing_embedder import HashingEmbedder
from sophon.learning.trajectories import Trajectory
from sophon.messages import Message
from sophon.stores.contract import Store
from sophon.stores.sessions.contract import SessionRecord
from sophon.stores.trajectories.similarity import find_similar
from sophon.stores.trajectories.trajectory_write import TrajectoryWrite
from sophon.stores.vectors.contract import TRAJECTORIES, VectorRow

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
FULL = Trajectory(
    *("r1", "s", "ada", NOON, "Review \0 it\ud800", "Done"),
    task_type="code_review",
    complexity=0.25,
    tier="premium",
    model="a/large",
    strategy="Intelligent",
    finish_reason="length",
    tools=("files.read",),
    scores={"overall": 0.9, "relevance": 1.0},
    quality=0.9,
    cost_micro_usd=12,
    duration_ms=345,
    output_tokens=67,
    judge="evaluator",
)


def made(run_id: str, quality: float | None = 0.9, *, hours: int = 0, **more: str) -> Trajectory:
    at, scores = NOON + timedelta(hours=hours), None if quality is None else {"overall": quality}
    return replace(FULL, run_id=run_id, quality=quality, scores=scores or {}, at=at, **more)


def said(run_id: str, person: str, value: float, text: str = "", *, hours: int = 0) -> Feedback:
    return Feedback(run_id, person, value, NOON + timedelta(hours=hours), text, "api", "s")


async def put(store: Store, *trajectories: Trajectory, keep: int = 1000) -> None:
    await store.trajectories.add([TrajectoryWrite(each, keep) for each in trajectories])


async def ids(store: Store, **query: object) -> list[str]:
    return [each.run_id for each in await store.trajectories.list(**query)]  # type: ignore[arg-type]


async def test_a_trajectory_is_kept_as_it_is_and_one_of_the_same_run_replaces_it(store: Store):
    await put(store, FULL)
    assert await store.trajectories.find("r1") == FULL
    assert await store.trajectories.find("r2") is None
    await put(store, made("r2"), replace(FULL, reply="Better"))
    assert (await store.trajectories.find("r1")).reply == "Better"  # type: ignore[union-attr]
    assert await ids(store) == ["r1", "r2"]


async def test_the_newest_ones_are_kept(store: Store):
    await put(store, *(made(f"r{number}") for number in range(6)), keep=3)
    assert await ids(store) == ["r5", "r4", "r3"]


async def test_best_and_poor_ones_are_listed_by_quality_person_and_session(store: Store):
    await put(store, made("a", 0.5), made("b", 0.9), made("c", 0.7), made("d", 0.9), made("e", 0.1, principal="bob"))
    assert await ids(store) == ["e", "d", "c", "b", "a"]
    assert await ids(store, order="best", at_least=0.7) == ["d", "b", "c"]
    assert await ids(store, order="poorest", below=0.7) == ["e", "a"]
    assert await ids(store, order="best", limit=1) == ["d"]
    assert await ids(store, principal="bob") == ["e"]
    assert await ids(store, session_id="t") == []
    assert await ids(store, limit=0) == []


async def test_what_nobody_has_judged_is_neither_good_nor_poor_and_comes_last(store: Store):
    await put(store, made("a", None), made("b", 0.1), made("c", 0.9))
    assert await ids(store, order="best") == ["c", "b", "a"]
    assert await ids(store, order="poorest") == ["b", "c", "a"]
    assert await ids(store, at_least=0.0) == ["c", "b"]
    assert await ids(store, below=1.0) == ["c", "b"]


async def test_the_scores_of_a_judge_come_later_and_weigh_beside_what_people_said(store: Store):
    await put(store, replace(made("r1", None), judge=""))
    await store.trajectories.rate(said("r1", "ada", 1))
    found = await store.trajectories.score("r1", {"overall": 0.5, "accuracy": 0.5}, "evaluator")
    assert found == await store.trajectories.find("r1")
    assert found is not None
    assert (found.quality, found.feedback, found.judge) == (pytest.approx(0.85), 1.0, "evaluator")
    assert found.scores == {"overall": 0.5, "accuracy": 0.5}
    assert await store.trajectories.score("unknown", {"overall": 0.5}, "evaluator") is None


async def test_feedback_is_stored_once_per_person_and_moves_the_quality(store: Store):
    await put(store, FULL)
    first = await store.trajectories.rate(said("r1", "ada", -1, "wrong"))
    assert (first.previous, first.is_changed) == (None, True)
    assert first.before == FULL
    assert first.after == replace(FULL, quality=pytest.approx(0.27), feedback=-1.0)
    again = await store.trajectories.rate(said("r1", "ada", -1, "wrong", hours=1))
    assert (again.previous, again.is_changed) == (-1, False)
    await store.trajectories.rate(said("r1", "bob", 1))
    found = await store.trajectories.find("r1")
    assert found == replace(FULL, quality=pytest.approx(0.62), feedback=0.0)
    changed = await store.trajectories.rate(said("r1", "ada", 1, hours=2))
    assert (changed.previous, changed.is_changed, changed.after.feedback) == (-1, True, 1.0)  # type: ignore[union-attr]
    assert list(await store.trajectories.list_feedback("r1")) == [said("r1", "bob", 1), said("r1", "ada", 1, hours=2)]


async def test_feedback_is_taken_back_and_the_quality_is_the_score_again(store: Store):
    await put(store, FULL)
    await store.trajectories.rate(said("r1", "ada", -1))
    gone = await store.trajectories.rate(said("r1", "ada", 0))
    assert (gone.previous, gone.is_changed, gone.after) == (-1, True, FULL)
    nothing = await store.trajectories.rate(said("r1", "ada", 0))
    assert (nothing.previous, nothing.is_changed) == (None, False)
    assert list(await store.trajectories.list_feedback("r1")) == []
    corrected = await store.trajectories.rate(said("r1", "ada", 0, "it is Ada"))
    assert corrected.is_changed  # a correction without a value is no withdrawal


async def test_feedback_needs_no_trajectory(store: Store):
    result = await store.trajectories.rate(said("unknown", "ada", 1))
    assert (result.before, result.after, result.is_changed) == (None, None, True)
    assert list(await store.trajectories.list_feedback("unknown")) == [said("unknown", "ada", 1)]


async def test_a_deleted_session_takes_trajectories_and_feedback_along(store: Store):
    await store.sessions.append("s", [SessionRecord("message", "r", Message("user", "hi"))], owner="ada")
    await put(store, FULL, made("r2", session_id="t"))
    await store.trajectories.rate(said("r1", "ada", 1))
    await store.sessions.delete("s")
    assert await ids(store) == ["r2"]
    assert list(await store.trajectories.list_feedback("r1")) == []


async def test_old_ones_expire(store: Store):
    await put(store, made("a"), made("b", hours=2), made("c", hours=3))
    await store.trajectories.rate(said("a", "ada", 1))
    await store.trajectories.rate(said("b", "ada", 1, hours=2))
    assert await store.trajectories.expire(NOON + timedelta(hours=1)) == 1
    assert await ids(store) == ["c", "b"]
    assert [len(await store.trajectories.list_feedback(each)) for each in "ab"] == [0, 1]


async def test_trajectories_are_found_by_the_similarity_of_their_requests(store: Store):
    await put(
        store,
        made("bake", request="Bake a cake with apples"),
        made("parse", request="Review the parser"),
        made("other", request="Review the parser", principal="bob"),
    )
    embedder = HashingEmbedder(64)
    gone = VectorRow(TRAJECTORIES, "gone", embedder.name, 64, b"\0" * 256, {}, NOON)
    broken = VectorRow(TRAJECTORIES, "bake", embedder.name, 64, b"\0", {}, NOON)
    await store.vectors.put([gone, broken])

    async def search(text: str, principal: str | None = None) -> list[str]:
        found = await find_similar(
            store.trajectories, store.vectors, embedder, text, limit=2, most=100, principal=principal
        )
        assert all(-1 <= each.similarity <= 1.0001 for each in found)
        return [each.trajectory.run_id for each in found]

    assert (await search("review this parser"))[0] in ("parse", "other")
    assert await search("apple cake", "ada") == ["bake", "parse"]
    stored = {each.key: each.dimensions for each in await store.vectors.load(TRAJECTORIES, embedder.name, 10)}
    assert stored == {"bake": 64, "parse": 64, "other": 64}
