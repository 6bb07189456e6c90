"""A turn on the screen."""

import io

from rich.console import Console

from sophon.events import (
    AgentStatus,
    ApprovalRequested,
    Event,
    Message,
    ModelAttempt,
    PlanProposed,
    PlanStepChanged,
    Reasoning,
    ReasoningChunk,
    StreamChunk,
    StreamReset,
    TaskCompleted,
    ToolCallCompleted,
    ToolCallStarted,
)
from sophon.messages import Response, Usage
from sophon_hosting.programs.chat.rendering.terminal_renderer import TerminalRenderer

PLAN = {"id": "p", "goal": "both", "steps": [{"id": "s1", "description": "write", "estimated_risk": "medium"}]}


def shown(
    *events: Event, response: Response | None = None, terminal: bool = False, shows_reasoning: bool = False
) -> str:
    stream = io.StringIO()
    screen = Console(
        file=stream,
        force_terminal=terminal,
        width=80,
        color_system=None,
        legacy_windows=False,
        _environ={"TERM": "xterm"},
    )
    view = TerminalRenderer(screen, shows_reasoning=shows_reasoning)
    view.start_turn()
    for event in events:
        view.emit(event)
    if response is not None:
        view.finish_turn(response, "main")
    return stream.getvalue()


def chunk(text: str) -> StreamChunk:
    return StreamChunk(epoch=1, text=text)


def tool(call_id: str = "1", *, run_id: str = "run") -> tuple[Event, Event]:
    began = ToolCallStarted(
        run_id=run_id, call_id=call_id, tool="calculator", arguments_digest="", arguments={"e": "1+1"}
    )
    return began, ToolCallCompleted(
        run_id=run_id, call_id=call_id, tool="calculator", outcome="completed", duration_ms=3, result="2"
    )


def test_what_was_streamed_is_not_shown_again_at_the_end() -> None:
    done = TaskCompleted(text="hi", finish_reason="stop", usage=Usage(), duration_ms=12)
    attempt = ModelAttempt(purpose="reply", model="a/b", outcome="ok", duration_ms=1)
    text = shown(attempt, chunk("hi"), done, response=Response("hi"))
    assert text == "hi\n  a/b · 12 ms · session main\n"


def test_what_was_not_streamed_is_shown_at_the_end() -> None:
    assert shown(*tool(), response=Response("two")).splitlines()[1] == "two"


def test_markup_and_escapes_of_a_model_are_text() -> None:
    text = shown(chunk("[bold red]x[/] :smile: \x1b[31m\x1b]0;t\x07"))
    assert text == "[bold red]x[/] :smile: ␛[31m␛]0;t␇"


def test_a_plan_is_shown_when_it_begins_to_run() -> None:
    lines = shown(PlanProposed(plan=PLAN), PlanStepChanged(step_id="s1", status="running")).splitlines()
    assert lines == ["  Plan of 1 steps: both", "    1. s1: write (risk medium)", "  ▸ s1: write"]


def test_a_plan_that_a_question_shows_is_not_shown_twice() -> None:
    asked = ApprovalRequested(approval_id="a", kind="plan", tool="plan", risk="medium", arguments={}, preview="")
    text = shown(PlanProposed(plan=PLAN), asked, PlanStepChanged(step_id="s1", status="running"))
    assert text == "  ▸ s1: write\n"


def test_a_reply_that_begins_anew_says_so() -> None:
    text = shown(chunk("half"), StreamReset(epoch=2, reason="restart"), chunk("x"))
    assert text == "half\n  · the answer restarts: restart\nx"


def test_a_terminal_tells_what_goes_on_and_takes_it_back() -> None:
    text = shown(AgentStatus(status="thinking"), chunk("hi"), terminal=True)
    assert text == "  thinking …\r\x1b[2Khi"


def test_a_pipe_is_told_no_passing_status() -> None:
    assert shown(AgentStatus(status="thinking"), chunk("hi")) == "hi"


def test_a_failover_has_a_line() -> None:
    line = shown(AgentStatus(status="retrying", detail="a/b failed (overloaded); asking c/d"))
    assert line == "  · retrying: a/b failed (overloaded); asking c/d\n"


def test_quiet_lines_keep_to_the_width_of_a_terminal() -> None:
    completed = ToolCallCompleted(call_id="1", tool="t" * 30, outcome="failed", result="word " * 60)
    assert max(len(line) for line in shown(completed, terminal=True).splitlines()) <= 80


def test_a_cancelled_turn_says_that_it_stopped() -> None:
    assert shown(chunk("ha"), response=Response(finish_reason="cancelled")) == "ha\n  – stopped\n"


WHOLE = Response("It is 2.", earlier_texts=["Let me add."])
ADDED = Message(message_id="run:0", role="assistant", content="Let me add.")
LAST = Message(message_id="main:4", role="assistant", content="It is 2.")


def test_text_before_a_tool_call_is_written_once_in_its_order_when_streamed() -> None:
    text = shown(chunk("Let me add."), ADDED, *tool(), chunk("\n\nIt is 2."), LAST, response=WHOLE)
    lines = text.splitlines()
    assert [lines[0], lines[2]] == ["Let me add.", "It is 2."]
    assert "calculator" in lines[1]
    assert text.count("Let me add.") == text.count("It is 2.") == 1


def test_text_before_a_tool_call_is_written_in_its_order_without_streaming() -> None:
    lines = shown(ADDED, *tool(), LAST, response=WHOLE).splitlines()
    assert [lines[0], lines[2]] == ["Let me add.", "It is 2."]
    assert len(lines) == 4


def test_after_a_reset_the_text_that_still_counts_is_not_repeated() -> None:
    again = [StreamReset(epoch=2, reason="again"), StreamChunk(epoch=2, text="Let me add.")]
    rest = StreamChunk(epoch=2, text="\n\nIt is 2.")
    text = shown(chunk("Let me add."), ADDED, *tool(), chunk("\n\nIt i"), *again, rest, LAST, response=WHOLE)
    assert text.count("Let me add.") == 1
    assert text.splitlines()[-2] == "It is 2."


def test_reasoning_is_written_on_request_only() -> None:
    pieces = [ReasoningChunk(reasoning_id="run:0", text=text, offset=at) for text, at in (("one ", 0), ("plus", 4))]
    events = [*pieces, chunk("2"), Reasoning(reasoning_id="run:0", model="p/m", text="one plus")]
    assert shown(*events).splitlines() == ["2"]
    assert shown(*events, shows_reasoning=True).splitlines() == ["one plus", "2"]
    assert shown(events[-1], shows_reasoning=True) == "one plus\n"
