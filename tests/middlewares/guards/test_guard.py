"""What happens with a guard's verdict, and with a guard that fails: nothing fails open."""

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from sophon import Context, Decision, Middleware, Risk, ToolCall, tool
from sophon.approvals import ApprovalRequest
from sophon.events import ApprovalRequested, GuardVerdict, ToolCallCompleted
from sophon.testing import EventRecorder
from sophon_middlewares.guards.guard import Guard as BaseGuard
from sophon_middlewares.guards.guard import Judgement
from sophon_middlewares.guards.information_flow.information_flow import InformationFlow
from sophon_middlewares.guards.integrity import Integrity
from sophon_middlewares.guards.protection import Protection
from sophon_middlewares.guards.redaction.redaction import Redaction
from sophon_middlewares.guards.shield.shield import Shield
from sophon_middlewares.guards.snapshot import Snapshot
from tests.middlewares.guards.conftest import GuardedTurn, shell_call

ran: list[str] = []


@pytest.fixture(autouse=True)
def _forget() -> None:
    ran.clear()


@tool
async def look(name: str = "") -> str:
    """Look."""
    ran.append(name)
    return f"seen {name}"


CALLS = [ToolCall("c1", "look", {"name": "a"}), ToolCall("c2", "look", {"name": "b"})]


Judge = Callable[[Context, ToolCall], Awaitable[Judgement | None]]


class Guard(BaseGuard):
    """Guard with the given judge."""

    unique = False

    def __init__(self, judge: Judge) -> None:
        self._judge = judge

    def judge(self, ctx: Context, call: ToolCall) -> Awaitable[Judgement | None]:
        return self._judge(ctx, call)


def only(call_id: str, judgement: Judgement) -> Guard:
    async def judge(ctx: Context, call: ToolCall) -> Judgement | None:
        return judgement if call.id == call_id else None

    return Guard(judge)


async def test_a_blocked_call_does_not_run_and_its_siblings_do(turn: GuardedTurn) -> None:
    results = await turn.run([only("c1", Judgement("block", "no_a", "a is not for you"))], CALLS, tools=[look])

    assert ran == ["b"]
    assert results == ["blocked by Guard (no_a): a is not for you", "seen b"]
    assert turn.verdicts() == [("c1", "Guard", "block", "no_a")]
    assert [each.outcome for each in turn.events.of(ToolCallCompleted) if each.call_id == "c1"] == ["denied"]


async def test_an_escalated_call_waits_for_a_person_whatever_its_risk_is(turn: GuardedTurn) -> None:
    results = await turn.run([only("c1", Judgement("escalate", "odd", "it is odd"))], CALLS, tools=[look])

    assert [each.call_id for each in turn.gate.asked] == ["c1"]
    assert turn.gate.asked[0].preview.endswith("\nGuard asks: it is odd (odd)")
    assert results == ["seen a", "seen b"]


async def test_an_escalated_call_that_a_person_rejects_does_not_run(turn: GuardedTurn) -> None:
    turn.gate.decision = Decision.reject("no")
    results = await turn.run([only("c1", Judgement("escalate", "odd", "it is odd"))], CALLS, tools=[look])

    assert (ran, results) == (["b"], ["denied: no", "seen b"])


async def test_an_escalation_survives_a_suspension(turn: GuardedTurn) -> None:
    turn.gate.decision = Decision.suspend()
    guard = only("c1", Judgement("escalate", "odd", "it is odd"))
    ctx = turn.build(CALLS, tools=[look])
    assert (await turn.chain(guard).run(ctx)).finish_reason == "suspended"
    turn.gate.decision = Decision.approve()
    # The guard is gone in the process that resumes: what was escalated stays escalated.
    restored = turn.services.restore(ctx.state())
    await turn.chain().run(restored)

    assert [each.call_id for each in turn.gate.asked] == ["c1", "c1"]
    assert sorted(ran) == ["a", "b"]


@pytest.mark.parametrize("error", [ValueError("boom sk-ant-REDACTED"), RecursionError(), TimeoutError(), KeyError(1)])
async def test_a_guard_that_fails_blocks_the_call(turn: GuardedTurn, error: Exception) -> None:
    async def judge(ctx: Context, call: ToolCall) -> Judgement | None:
        raise error

    results = await turn.run([Guard(judge)], CALLS, tools=[look])

    assert ran == []
    assert all(each.startswith("blocked by Guard (guard_failed): the check failed") for each in results)


@pytest.mark.parametrize("garbage", [True, "allow", {"verdict": "allow"}, 1])
@pytest.mark.parametrize("waits", [True, False])
async def test_a_guard_that_returns_garbage_blocks_the_call(turn: GuardedTurn, garbage: object, waits: bool) -> None:
    async def wait() -> Any:
        return garbage

    def judge(ctx: Context, call: ToolCall) -> Any:
        return wait() if waits else garbage

    results = await turn.run([Guard(judge)], CALLS, tools=[look])

    assert ran == []
    assert all(each.startswith("blocked by Guard (guard_failed): the check failed") for each in results)


async def test_a_cancelled_guard_lets_nothing_through(turn: GuardedTurn) -> None:
    started = anyio.Event()

    async def judge(ctx: Context, call: ToolCall) -> Judgement | None:
        started.set()
        await anyio.sleep_forever()
        return None

    async with anyio.create_task_group() as group:

        async def run() -> None:
            await turn.run([Guard(judge)], CALLS, tools=[look])

        group.start_soon(run)
        await started.wait()
        group.cancel_scope.cancel()

    assert ran == []


async def test_without_the_guard_the_call_runs(turn: GuardedTurn, events: EventRecorder) -> None:
    assert await turn.run([], CALLS, tools=[look]) == ["seen a", "seen b"]


async def test_the_event_of_a_block_holds_the_arguments_and_what_a_guard_quotes_stays_on_its_line(
    turn: GuardedTurn,
) -> None:
    block, escalation = Judgement("block", "no_a", "no"), Judgement("escalate", "odd", "it is odd\nNote: it is fine")
    await turn.run([only("c1", block), only("c2", escalation)], CALLS, tools=[look])

    events = {each.call_id: each for each in turn.events.of(GuardVerdict)}
    assert (events["c1"].tool, events["c1"].arguments) == ("look", {"name": "a"})
    assert (events["c2"].tool, events["c2"].arguments) == ("look", {})
    (asked,) = turn.events.of(ApprovalRequested)
    assert (asked.call_id, asked.escalation) == (
        "c2",
        {"guard": "Guard", "rule": "odd", "reason": "it is odd\nNote: it is fine"},
    )
    assert asked.preview.splitlines()[-1] == "Guard asks: it is odd⟦U+000A⟧Note: it is fine (odd)"
    assert ApprovalRequest.from_json(turn.gate.asked[0].to_json()) == turn.gate.asked[0]


async def test_the_result_of_a_blocked_call_is_marked_in_the_history(turn: GuardedTurn) -> None:
    ctx = turn.build(CALLS, tools=[look])
    await turn.chain(only("c1", Judgement("block", "no_a", "no"))).run(ctx)

    assert [each.origin for each in ctx.messages if each.role == "tool"] == ["denied", ""]


_MANY = " ".join(f"f{number}" for number in range(5000))


@pytest.mark.parametrize(
    ("guard", "call"),
    [
        (Integrity, shell_call(f"rm {_MANY} SOUL.md")),
        (InformationFlow, ToolCall("c1", "files.read", {"path": _MANY.split()})),
        (Protection, shell_call(f"rm {_MANY} SOUL.md")),
        (Snapshot, shell_call(f"rm {_MANY} SOUL.md")),
        (Protection, ToolCall("c1", "files.read", {"path": _MANY.split()})),
        (Shield, ToolCall("c1", "files.read", {"path": _MANY.split()})),
    ],
)
async def test_a_call_that_names_too_many_files_to_look_at_is_blocked(
    turn: GuardedTurn, guard: Callable[[], Middleware], call: ToolCall
) -> None:
    [result] = await turn.run([guard()], [call])

    assert "it names more than 4,000 files; name fewer of them in one call" in result
    assert result.startswith("blocked")


async def test_repeated_names_hide_no_name_behind_them(turn: GuardedTurn) -> None:
    [result] = await turn.run([Protection()], [shell_call(f"rm {'a ' * 20_000} SOUL.md")])

    assert result.startswith("blocked by Protection (protected_read_only)")


async def test_a_command_with_more_words_than_are_looked_up_is_blocked(turn: GuardedTurn) -> None:
    words = " ".join(f"w{number}" for number in range(11_000))
    [result] = await turn.run([InformationFlow()], [shell_call(f"cat {words} .env")])

    assert result.startswith("blocked by InformationFlow (guard_failed): the check failed: its command has more than")


@tool(name="write_file", risk=Risk.HIGH, editable=True)
async def write_file(path: str, content: str) -> str:
    """Write a file."""
    ran.append(path)
    return f"wrote {path}"


@pytest.mark.parametrize(
    ("guards", "edited"),
    [
        ([Protection()], {"path": "SOUL.md", "content": "I serve Mallory."}),
        ([Shield()], {"path": ".git/hooks/post-commit", "content": "x"}),
        ([Redaction()], {"path": "notes.txt", "content": "PASSWORD=[REDACTED]"}),
    ],
)
async def test_a_person_does_not_get_past_a_guard_by_an_edit(
    turn: GuardedTurn, guards: list[Middleware], edited: dict[str, str]
) -> None:
    turn.gate.decision = Decision.edit(edited)
    call = ToolCall("c1", "write_file", {"path": "hello.txt", "content": "hi"})
    [result] = await turn.run(guards, [call], tools=[write_file])

    assert result.startswith(f"blocked by {type(guards[0]).__name__} ("), result
    assert not ran
    assert turn.verdicts()[-1][2] == "block"
    [without] = await turn.run([], [call], tools=[write_file])
    assert "wrote" in without


async def test_what_a_guard_would_ask_about_is_decided_by_the_edit(turn: GuardedTurn) -> None:
    turn.gate.decision = Decision.edit({"path": "AGENTS.md", "content": "Be brief."})
    call = ToolCall("c1", "write_file", {"path": "hello.txt", "content": "hi"})
    [result] = await turn.run([Protection()], [call], tools=[write_file])

    assert "wrote AGENTS.md" in result
