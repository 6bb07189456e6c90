"""Staged parts wait while the store is unavailable; what it refuses for good takes along what builds on it."""

from sophon.errors import StoreError, StoreUnavailable
from sophon_hosting.events.staged_writes import StagedWrite, StagedWrites
from sophon_hosting.store.runs.sql_transactions import checkpoint_write

REFUSED = StoreError("store", "a checkpoint was refused")


def checkpoint(run_id: str, settled: list[str], name: str) -> StagedWrite:
    return StagedWrite(checkpoint_write(run_id, {}), on_settled=lambda error: settled.append(f"{name} {error}"))


def test_a_checkpoint_that_builds_on_a_refused_one_is_refused_after_it() -> None:
    area, settled = StagedWrites(), list[str]()
    first, second = checkpoint("r", settled, "first"), checkpoint("r", settled, "second")
    other = checkpoint("other", settled, "other")
    area.parts.append(first)
    taken, area.parts = area.parts, []
    area.parts.append(second)
    area.parts.append(other)
    area.give_back(taken, REFUSED)
    assert settled == [f"first {REFUSED}", f"second {REFUSED}"]
    assert (second.error, area.parts) == (REFUSED, [other])


def test_while_the_store_is_unavailable_checkpoints_stay_in_their_order() -> None:
    area, settled = StagedWrites(), list[str]()
    first, second = checkpoint("r", settled, "first"), checkpoint("r", settled, "second")
    area.parts.append(first)
    taken, area.parts = area.parts, []
    area.parts.append(second)
    area.give_back(taken, StoreUnavailable("store", "full", "the disk is full"))
    assert (settled, area.parts) == ([], [first, second])
