"""Killed at any moment, again and again: each time of a schedule has one run, and each run one outcome."""

import os
import random
from collections import defaultdict
from datetime import datetime, timedelta
from pathlib import Path

from sophon_hosting.store.factory import host_store_from_url
from tests.fork_server import ForkedProcess

SCRIPT = Path(__file__).with_name("killable_scheduler.py")
SECOND = timedelta(seconds=1)


def fire(folder: Path, target: int, lines: int | None) -> int:
    """Run the host, killed after so many lines of output; give the exit code."""
    process = ForkedProcess([str(folder), str(target)], folder, os.environ, script=SCRIPT)
    for count, _ in enumerate(process.stdout):
        if lines is not None and count >= lines:
            process.kill()
    with (folder / "errors.txt").open("a") as errors:
        errors.write(process.communicate()[1])
    return process.wait()


async def test_killed_again_and_again_every_time_has_one_run(tmp_path: Path, seed: int) -> None:
    await kill_while_firing(tmp_path, seed=seed, kills=8, runs=60)


async def kill_while_firing(folder: Path, *, seed: int, kills: int, runs: int) -> None:
    """Fire so many runs while the host is killed, and compare what it keeps."""
    chance = random.Random(seed)
    codes = [fire(folder, 1000, chance.randrange(3, 40)) for _ in range(kills)]
    assert set(codes) == {-9}
    assert fire(folder, runs, None) == 0, (folder / "errors.txt").read_text()

    store = host_store_from_url("sqlite:///host.db", folder=folder)
    await store.open()
    found = await store.runs.list(limit=1000)
    assert {run.status for run in found} == {"completed"}
    times: dict[str, list[datetime]] = defaultdict(list)
    for run in found:
        times[run.session_id].append(datetime.fromisoformat(run.origin["due_at"]))
    for session, due in times.items():
        ordered = sorted(due)
        # Each second once, none twice and none left out, however often the host was killed.
        assert ordered == [ordered[0] + n * SECOND for n in range(len(due))]
        history = (await store.sessions.load_history(session)).messages
        assert [message.role for message in history] == ["user", "assistant"] * len(due)
    await store.close()
