"""Killed at any moment, again and again: what was accepted has one outcome, in order, and nothing is done twice."""

import json
import os
import random
from collections import Counter
from pathlib import Path

from sophon.stores.events.contract import LoggedEvent
from sophon.stores.factory import store_from_url
from sophon.stores.runs.contract import Run
from tests.fork_server import ForkedProcess

ONCE = ("task_queued", "message", "task_completed")
SCRIPT = Path(__file__).with_name("killable_host.py")


def work(folder: Path, firsts: dict[str, int], messages: int, lines: int | None) -> int:
    """Run the host, killed after so many lines of output, if their number is even in the midst of a tool.

    Counts in `firsts` what was acknowledged, and gives the exit code.
    """
    process = ForkedProcess([str(folder), json.dumps(firsts), str(messages)], folder, os.environ, script=SCRIPT)
    for count, line in enumerate(process.stdout):
        match line.split():
            case ["accepted", session, number]:
                firsts[session] = int(number) + 1
        if lines is not None and count >= lines and (lines % 2 or line.startswith("kept")):
            process.kill()
    with (folder / "errors.txt").open("a") as errors:
        errors.write(process.communicate()[1])
    return process.wait()


async def test_killed_again_and_again_every_message_has_one_outcome(tmp_path: Path, seed: int) -> None:
    await kill_again_and_again(tmp_path, seed=seed, sessions=20, messages=25, kills=20)


async def kill_again_and_again(tmp_path: Path, *, seed: int, sessions: int, messages: int, kills: int) -> None:
    """Send so many messages of each session while the host is killed, and compare what it keeps."""
    names = [f"s{number}" for number in range(sessions)]
    firsts, chance = dict.fromkeys(names, 0), random.Random(seed)
    codes = [work(tmp_path, firsts, messages, chance.randrange(5, 250)) for _ in range(kills)]
    assert codes.count(-9) >= kills - 1, "the host ended before it could be killed"
    assert work(tmp_path, firsts, messages, None) == 0, (tmp_path / "errors.txt").read_text()

    store = store_from_url("sqlite:///host.db", folder=tmp_path)
    await store.open()
    runs = list(reversed(await store.runs.list(limit=1000)))
    assert {run.status for run in runs} == {"completed"}
    for name in names:
        texts = [f"{name}/{number}" for number in range(messages)]
        assert [run.text for run in runs if run.session_id == name] == texts
        history = (await store.sessions.load_history(name)).messages
        said = [message for message in history if message.role != "tool" and not message.tool_calls]
        assert [message.content for message in said if message.role == "user"] == texts
        assert [message.role for message in said] == ["user", "assistant"] * messages
        check_what_was_told(
            await store.events.list_after(name, 0, 100_000), [run for run in runs if run.session_id == name]
        )
    assert Counter(entry.run_id for entry in await store.outbox.list(limit=1000)) == {run.id: 1 for run in runs}
    await store.close()
    assert max(Counter((tmp_path / "kept.txt").read_text().split()).values()) == 1


def check_what_was_told(events: list[LoggedEvent], runs: list[Run]) -> None:
    """Whoever catches up sees each task begin, speak and end, once each, and in the order of the messages."""
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    for run in runs:
        names = [event.name for event in events if event.task_id == run.id]
        assert names[0] == "task_queued"
        assert names[-2:] == ["message", "task_completed"]
        assert {name: names.count(name) for name in ONCE} == {"task_queued": 1, "message": 2, "task_completed": 1}
        for kind in ("tool_call_completed", "approval_requested", "approval_resolved"):
            assert names.count(kind) <= 1
        assert names.count("approval_requested") == names.count("approval_resolved")
    assert [event.task_id for event in events if event.name == "task_completed"] == [run.id for run in runs]
