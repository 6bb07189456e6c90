"""`sophon trajectories`: what is kept of finished turns, by quality and similarity, and as JSON lines."""

import asyncio
import json
import stat
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from sophon.learning.feedback import Feedback
from sophon.learning.trajectories import Trajectory
from sophon.stores.trajectories.trajectory_write import TrajectoryWrite
from sophon_hosting.store.sql_host_store import SqlHostStore
from tests.databases import SQLITE, copy_database

Command = Callable[..., Any]
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
TURNS = [("cake", "Bake a cake", 0.9), ("parse", "Review the parser", 0.7), ("poor", "Say nothing", 0.3)]


async def fill(folder: Path) -> None:
    store = SqlHostStore(SQLITE, folder=folder)
    await store.open()
    for number, (name, request, quality) in enumerate(TURNS):
        at, scores = NOON + timedelta(hours=number), {"overall": quality, "coherence": 0.5}
        found = Trajectory(name, "s", "ada", at, request, f"about {request}", scores=scores, quality=quality)
        await store.trajectories.add([TrajectoryWrite(found, 10)])
    await store.trajectories.rate(Feedback("poor", "bob", -1, NOON, "say more", "telegram", "s"))
    await store.close()


@pytest.fixture
def learnt(folder: Path) -> Path:
    copy_database(folder)
    asyncio.run(fill(folder))
    return folder


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], ["poor", "parse", "cake"]),
        (["list"], ["poor", "parse", "cake"]),
        (["list", "--best"], ["cake"]),
        (["list", "--poor"], ["poor"]),
        (["list", "--limit", "1"], ["poor"]),
        (["list", "--like", "parsers", "--limit", "1"], ["parse"]),
    ],
)
def test_trajectories_are_listed(learnt: Path, sophon: Command, arguments: list[str], expected: list[str]) -> None:
    shown = sophon("trajectories", *arguments)
    assert shown.code == 0, shown.err
    lines = [line for line in shown.out.splitlines() if "2026-01-01" in line]
    assert [next(name for name, _, _ in TURNS if f" {name} " in line) for line in lines] == expected
    if arguments:
        items = json.loads(sophon("trajectories", *arguments, "--json").out)
        assert [each["run_id"] for each in items] == expected


def test_one_is_shown_with_its_scores_and_what_people_said(learnt: Path, sophon: Command) -> None:
    shown = sophon("trajectories", "show", "poor").out
    for part in ("request:", "Say nothing", "about Say nothing", "low: coherence", "bob: -1 say more"):
        assert part in shown
    found = json.loads(sophon("trajectories", "show", "poor", "--json").out)
    assert (found["feedback"], found["people"][0]["source"]) == (-1, "telegram")
    assert "there is no trajectory 'x'" in sophon("trajectories", "show", "x").err


def test_they_are_exported_as_json_lines_to_a_new_private_file(learnt: Path, sophon: Command) -> None:
    lines = sophon("trajectories", "export").out.splitlines()
    assert [json.loads(line)["run_id"] for line in lines] == ["poor", "parse", "cake"]
    file = learnt / "out.jsonl"
    assert sophon("trajectories", "export", "--best", "-o", str(file)).code == 0
    assert [json.loads(line)["run_id"] for line in file.read_text().splitlines()] == ["cake"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "exists already" in sophon("trajectories", "export", "-o", str(file)).err


def test_contradicting_options_and_an_empty_store_are_one_clear_line(folder: Path, sophon: Command) -> None:
    assert "give one of --best" in sophon("trajectories", "list", "--best", "--poor").err
    assert "Learning.Enabled" in sophon("trajectories").out
