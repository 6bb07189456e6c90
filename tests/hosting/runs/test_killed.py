"""Killed at any moment, again and again: what was accepted has one outcome, in order, and nothing is done twice."""

import json
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

from sophon.stores.opening import store_from_url

SCRIPT = Path(__file__).with_name("killable_host.py")
SESSIONS, MESSAGES, KILLS = 6, 8, 6
NAMES = [f"s{number}" for number in range(SESSIONS)]


def work(folder: Path, firsts: dict[str, int], lines: int | None) -> int:
    """Run the host, killed after so many lines of output, if their number is even in the midst of a tool.

    Counts in `firsts` what was acknowledged, and gives the exit code.
    """
    command = [sys.executable, str(SCRIPT), str(folder), json.dumps(firsts)]
    with (
        (folder / "errors.txt").open("a") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as process,
    ):
        assert process.stdout is not None
        for count, line in enumerate(process.stdout):
            match line.split():
                case ["accepted", session, number]:
                    firsts[session] = int(number) + 1
            if lines is not None and count >= lines and (lines % 2 or line.startswith("kept")):
                process.kill()
        return process.wait()


async def test_killed_again_and_again_every_message_has_one_outcome(tmp_path: Path) -> None:
    firsts, chance = dict.fromkeys(NAMES, 0), random.Random(7)
    codes = [work(tmp_path, firsts, chance.randrange(5, 90)) for _ in range(KILLS)]
    assert codes.count(-9) >= KILLS - 1, "the host ended before it could be killed"
    assert work(tmp_path, firsts, None) == 0, (tmp_path / "errors.txt").read_text()

    store = store_from_url("sqlite:///host.db", folder=tmp_path)
    await store.open()
    runs = list(reversed(await store.runs.list(limit=1000)))
    assert {run.status for run in runs} == {"completed"}
    for name in NAMES:
        texts = [f"{name}/{number}" for number in range(MESSAGES)]
        assert [run.text for run in runs if run.session_id == name] == texts
        history = (await store.sessions.history(name)).messages
        said = [message for message in history if message.role != "tool" and not message.tool_calls]
        assert [message.content for message in said if message.role == "user"] == texts
        assert [message.role for message in said] == ["user", "assistant"] * MESSAGES
    assert Counter(entry.run_id for entry in await store.outbound.list(limit=1000)) == {run.id: 1 for run in runs}
    await store.close()
    assert max(Counter((tmp_path / "kept.txt").read_text().split()).values()) == 1
