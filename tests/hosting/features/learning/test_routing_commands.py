"""`sophon routing stats`: averages, and what people say beside what scorers say."""

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sophon.learning.feedback import Feedback
from sophon.learning.trajectories import Trajectory
from sophon.stores.route_averages.route_average import RouteObservation
from sophon.stores.trajectories.trajectory_write import TrajectoryWrite
from sophon_hosting.store.sql_host_store import SqlHostStore
from tests.databases import SQLITE, copy_database

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


async def fill(folder: Path) -> None:
    store = SqlHostStore(SQLITE, folder=folder)
    await store.open()
    await store.route_averages.add([RouteObservation("a/small", "low", "chat", NOON, quality=0.94)])
    await store.route_averages.add([RouteObservation("a/small", "low", "chat", NOON, said=0.0)] * 5)
    for number, score in enumerate((0.9, 0.1)):
        kept = Trajectory(f"r{number}", "s", "ada", NOON, "ask", "so", scores={"overall": score}, judge="evaluator")
        await store.trajectories.add([TrajectoryWrite(kept, 10)])
        await store.trajectories.rate(Feedback(f"r{number}", "ada", -1, NOON, session_id="s"))
    await store.close()


def test_ratings_are_shown_beside_the_scores_and_how_far_both_agree(folder: Path, sophon: Callable[..., Any]) -> None:
    copy_database(folder)
    asyncio.run(fill(folder))
    shown = sophon("routing", "stats")
    assert shown.code == 0, shown.err
    [line] = [each for each in shown.out.splitlines() if each.startswith("a/small")]
    assert line.split()[-6:] == ["0.94", "of", "1", "0.00", "of", "5"]
    assert "of 2 answers that both have judged, scorer and people agree on 1" in shown.out + shown.err
    [item] = json.loads(sophon("routing", "stats", "--json").out)
    assert (item["quality"], item["scored"], item["said"], item["rated"]) == (0.94, 1, 0.0, 5)
