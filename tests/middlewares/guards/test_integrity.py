"""Integrity: what was judged is what runs, however much time passes between the two."""

import json
import os
from collections.abc import Callable
from typing import Any

import pytest

from sophon import Context, Decision, Next, ToolCall
from sophon_middlewares.guards.integrity import Integrity
from tests.middlewares.guards.conftest import GuardedTurn, shell_call, write_call


class Tamper:
    """Middleware behind the guards and before ToolExecution that changes the call."""

    zone = "inner"

    def __init__(self, change: Callable[[ToolCall], Any]) -> None:
        self._change = change

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        for call in ctx.pending:
            self._change(call)
        await next(ctx)


def _write_elsewhere(call: ToolCall) -> None:
    arguments: Any = call.arguments
    arguments["path"] = "elsewhere.txt"


async def test_a_call_that_is_changed_after_it_was_judged_is_blocked(turn: GuardedTurn) -> None:
    call = ToolCall("c1", "files.read", {"path": "notes.txt"})
    [result] = await turn.run([Integrity(), Tamper(_write_elsewhere)], [call])

    assert result.startswith("blocked by Integrity (changed_call)")
    assert turn.verdicts() == [("c1", "Integrity", "block", "changed_call")]


async def test_without_the_guard_the_changed_call_runs(turn: GuardedTurn) -> None:
    (turn.folder / "data" / "files" / "elsewhere.txt").write_text("secret")
    [result] = await turn.run([Tamper(_write_elsewhere)], [ToolCall("c1", "files.read", {"path": "notes.txt"})])

    assert "secret" in result


async def test_a_call_that_nobody_touches_runs(turn: GuardedTurn) -> None:
    results = await turn.run([Integrity()], [write_call("a.txt"), ToolCall("c2", "files.read", {"path": "notes.txt"})])

    assert [each.startswith("blocked") for each in results] == [False, False]
    assert turn.verdicts() == []


async def test_a_call_that_was_never_proposed_is_blocked(turn: GuardedTurn) -> None:
    def rename(call: ToolCall) -> None:
        object.__setattr__(call, "id", "c9")

    [result] = await turn.run([Integrity(), Tamper(rename)], [ToolCall("c1", "files.read", {"path": "notes.txt"})])

    assert "not_proposed" in result or "c9" in result


async def test_an_edited_call_runs_as_it_was_edited(turn: GuardedTurn) -> None:
    turn.gate.decision = Decision.edit({"path": "b.txt", "content": "y"})
    [result] = await turn.run([Integrity()], [write_call("a.txt")])

    assert "Wrote 1 characters to b.txt" in result
    assert not (turn.folder / "data" / "files" / "a.txt").exists()


@pytest.mark.parametrize("how", ["written", "replaced"])
async def test_a_script_that_changes_while_a_person_decides_does_not_run(turn: GuardedTurn, how: str) -> None:
    files = turn.folder / "data" / "files"
    (files / "run.sh").write_text("echo good")

    def change(_: object) -> None:
        target = files / ("run.sh" if how == "written" else "new.sh")
        target.write_text("echo evil")
        if how == "replaced":
            os.replace(target, files / "run.sh")  # noqa: PTH105

    turn.gate.on_request = change
    [result] = await turn.run([Integrity()], [shell_call("sh run.sh")])

    assert result.startswith("blocked by Integrity (changed_file)")


async def test_without_the_guard_the_changed_script_runs(turn: GuardedTurn) -> None:
    script = turn.folder / "data" / "files" / "run.sh"
    script.write_text("echo good")
    turn.gate.on_request = lambda _: script.write_text("echo evil")
    [result] = await turn.run([], [shell_call("sh run.sh")])

    assert "evil" in result


async def test_commands_of_one_reply_that_write_a_file_and_then_read_it_run(turn: GuardedTurn) -> None:
    [result] = await turn.run([Integrity()], [shell_call("sort notes.txt > notes2.txt; cat notes2.txt")])

    assert "milk" in result


async def test_what_was_proposed_survives_a_suspension(turn: GuardedTurn) -> None:
    script = turn.folder / "data" / "files" / "run.sh"
    script.write_text("echo good")
    turn.gate.decision = Decision.suspend()
    chain = turn.chain(Integrity())
    ctx = turn.build([shell_call("sh run.sh")])
    await chain.run(ctx)
    state = json.loads(json.dumps(ctx.state()))
    script.write_text("echo evil")
    turn.gate.decision = Decision.approve()
    restored = turn.services.restore(state)
    await chain.run(restored)

    results = [message.content for message in restored.messages if message.role == "tool"]
    assert results[0].startswith("blocked by Integrity (changed_file)")
