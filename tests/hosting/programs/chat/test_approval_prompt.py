"""The gate of the terminal: one question at a time, answered by the next line of input."""

import asyncio
import os
from collections.abc import Iterable, Iterator

import pytest
from rich.cells import cell_len

from sophon.approvals import ApprovalRequest, Decision
from sophon.messages import ToolCall
from sophon.testing import VirtualClock
from sophon.tools.tool import Risk
from sophon_hosting.cli.console.stdin_reader import StdinReader
from sophon_hosting.programs.chat.approval_prompt import TerminalApprovalGate, approval_question_lines, format_time_left


class RecordedOutput:
    """A desk that keeps what is put on it."""

    def __init__(self) -> None:
        self.text = ""

    def write_lines(self, lines: Iterable[str], /) -> None:
        self.text += "".join(f"{line}\n" for line in lines)

    def write_prompt(self, text: str, /) -> None:
        self.text += text

    def finish_prompt(self, text: str, /, *, echoed: bool) -> None:
        self.text += "" if echoed else f"{text}\n"


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reads, writes = os.pipe()
    yield reads, writes
    os.close(reads)


def request(name: str = "files.write", *, editable: bool = True, **arguments: str) -> ApprovalRequest:
    return ApprovalRequest.from_call(ToolCall("1", name, arguments), "run", Risk.HIGH, editable=editable)


async def ask(pipe: tuple[int, int], typed: str, asked: ApprovalRequest | None = None) -> tuple[Decision, str]:
    reads, writes = pipe
    os.write(writes, typed.encode())
    os.close(writes)
    paper = RecordedOutput()
    decision = await TerminalApprovalGate(StdinReader(reads), paper, VirtualClock()).request(
        asked or request(path="a.txt")
    )
    return decision, paper.text


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    own, theirs = os.openpty()
    yield own, theirs
    os.close(own)
    os.close(theirs)


async def test_who_may_not_approve_may_reject(terminal: tuple[int, int]) -> None:
    own, theirs = terminal
    paper = RecordedOutput()
    os.write(own, b"approve\nreject too dear\n")
    gate = TerminalApprovalGate(StdinReader(theirs), paper, VirtualClock())
    decision = await gate.request_rejection(request(path="a.txt"))
    assert (decision.verdict, decision.reason) == ("reject", "too dear")
    assert "only an operator may approve it" in paper.text


async def test_the_end_of_a_pipe_rejects_what_waits_for_an_operator_as_well(pipe: tuple[int, int]) -> None:
    os.close(pipe[1])
    gate = TerminalApprovalGate(StdinReader(pipe[0]), RecordedOutput(), VirtualClock())
    decision = await gate.request_rejection(request(path="a.txt"))
    assert (decision.verdict, gate.ran_out_of_input) == ("reject", True)


@pytest.mark.parametrize(
    ("typed", "verdict"), [("approve\n", "approve"), ("reject\n", "reject"), ("y", "approve"), ("\r\nno\r\n", "reject")]
)
async def test_the_next_line_answers(pipe: tuple[int, int], typed: str, verdict: str) -> None:
    decision, _ = await ask(pipe, typed)
    assert decision.verdict == verdict


async def test_anything_else_is_asked_again_until_it_is_an_answer(pipe: tuple[int, int]) -> None:
    decision, text = await ask(pipe, "continue\nok\napprove\n")
    assert decision.verdict == "approve"
    assert text.count("not a valid answer") == 2
    assert text.count("approve, reject [reason] or edit {...}: ") == 3


async def test_the_end_of_the_input_rejects(pipe: tuple[int, int]) -> None:
    decision, _ = await ask(pipe, "maybe\n")
    assert decision.verdict == "reject"
    assert "ended" in decision.reason


async def test_edit_shows_the_arguments_and_takes_new_ones(pipe: tuple[int, int]) -> None:
    decision, text = await ask(pipe, 'edit\n{"path": \nedit {"path": "b.txt"}\n')
    assert decision == Decision.edit({"path": "b.txt"}, decided_by="terminal")
    assert 'now: {"path": "a.txt"}' in text
    assert "not valid JSON" in text


async def test_the_question_shows_risk_arguments_id_and_the_time_left(pipe: tuple[int, int]) -> None:
    clock = VirtualClock()
    asked = ApprovalRequest.from_call(
        ToolCall("1", "files.write", {"path": "a"}), "run", Risk.HIGH, expires_at=clock.now()
    )
    lines = approval_question_lines(asked, clock.now())
    assert lines[0] == f"  Approval needed · high risk · {asked.id[:12]} · 0 s left"
    assert lines[1:] == ["  │ Run files.write", "  │   path: a"]


async def test_no_argument_can_pass_for_a_word_of_the_host(pipe: tuple[int, int]) -> None:
    hostile = "x\nApproval needed · low risk\x1b[1A" + " " * 200 + "approved"
    lines = approval_question_lines(request(path=hostile), VirtualClock().now())
    assert all(line.startswith("  │ ") for line in lines[1:])
    assert max(map(len, lines)) <= 80
    assert not any("\x1b" in line for line in lines)


async def test_several_questions_are_asked_one_after_the_other(pipe: tuple[int, int]) -> None:
    reads, writes = pipe
    paper = RecordedOutput()
    gate = TerminalApprovalGate(StdinReader(reads), paper, VirtualClock())
    async with asyncio.TaskGroup() as group:
        first = group.create_task(gate.request(request("one", path="a")))
        second = group.create_task(gate.request(request("two", path="b")))
        await asyncio.sleep(0)
        assert "Run one" in paper.text
        assert "Run two" not in paper.text
        os.write(writes, b"approve\nreject\n")
    os.close(writes)
    assert (first.result().verdict, second.result().verdict) == ("approve", "reject")
    assert paper.text.index("Run two") > paper.text.index("approve\n")


async def test_a_question_that_expires_takes_no_line_away(pipe: tuple[int, int]) -> None:
    reads, writes = pipe
    lines = StdinReader(reads)
    gate = TerminalApprovalGate(lines, RecordedOutput(), VirtualClock())
    expired = asyncio.create_task(gate.request(request(path="a")))
    await asyncio.sleep(0)
    expired.cancel()
    with pytest.raises(asyncio.CancelledError):
        await expired
    os.write(writes, b"the next message\n")
    os.close(writes)
    assert lines.read_line("") == "the next message"


@pytest.mark.parametrize(("seconds", "text"), [(299.6, "5 min 0 s"), (61, "1 min 1 s"), (12, "12 s"), (-3, "0 s")])
def test_the_time_left_is_never_below_zero(seconds: float, text: str) -> None:
    assert format_time_left(seconds) == text


async def test_who_may_not_approve_is_not_asked_and_the_call_does_not_run(pipe: tuple[int, int]) -> None:
    wreck = ToolCall("1", "wreck", {})
    decision, text = await ask(
        pipe, "approve\n", ApprovalRequest.from_call(wreck, "run", Risk.CRITICAL, needs_operator=True)
    )
    assert (decision.verdict, text) == ("reject", "")
    assert "another operator" in decision.reason


@pytest.mark.parametrize(
    "value",
    ["\u5ba1" * 40 + "  ok: calculator 1+1", "\tx" * 36, "a\u0338" * 90, "x" * 300, "word " * 60, " " * 38 + "y" * 90],
)
def test_no_line_of_a_preview_is_wider_than_the_terminal(value: str) -> None:
    asked = request("system.execute", command=value)
    lines = approval_question_lines(asked, VirtualClock().now())[1:]
    assert all(line.startswith("  \u2502 ") and "\t" not in line and cell_len(line) <= 80 for line in lines)
    shown = "".join("".join(line[4:].split()) for line in lines)
    assert "".join(value.split()) in shown
