"""`chat.ask`: the answer of a person is the result of the call; nothing else is."""

import pytest

from sophon import Decision, Pipeline, Services, ToolCall
from sophon.builtin_tools.questions import choose_answer, find_question_problem, render_question
from sophon.events import ApprovalRequested, ApprovalResolved, ToolCallCompleted
from sophon.testing import EventRecorder, ScriptedModel
from tests.gate import Gate
from tests.tables import table

ASK = ToolCall("c1", "chat.ask", {"question": "Which colour?", "choices": ["red", "blue"]})
ON = {"Approval": {"Questions": True}}


async def run(inner: Pipeline, gate: Gate, call: ToolCall = ASK, events: EventRecorder | None = None, **more) -> str:
    """Return what the model reads as the result of the call."""
    with ScriptedModel([[call], "done"]) as model:
        ctx = Services(models=model, approvals=gate, events=events, settings=more.get("settings", ON)).turn("hi")
        await inner.run(ctx)
    return next(each.content for each in ctx.messages if each.role == "tool")


async def test_the_answer_is_what_the_model_reads(inner: Pipeline, events: EventRecorder) -> None:
    gate = Gate(Decision.answer("blue", decided_by="ada"))
    assert await run(inner, gate, events=events) == "The person answered: blue"
    assert [(each.kind, each.risk.label, each.editable) for each in gate.asked] == [("question", "none", False)]
    assert gate.asked[0].preview == "The agent asks:\n  Which colour?\n  1. red\n  2. blue"
    assert [each.kind for each in events.of(ApprovalRequested)] == ["question"]
    assert [(each.decision, each.reason) for each in events.of(ApprovalResolved)] == [("answer", "blue")]
    assert [each.outcome for each in events.of(ToolCallCompleted)] == ["completed"]


@pytest.mark.parametrize(
    ("decision", "result"),
    [
        (Decision.reject(), "not answered: the person did not want to answer"),
        (Decision.reject("ask Bob"), "not answered: ask Bob"),
        (Decision.approve(), "not answered: the person did not want to answer"),
        (Decision.edit({"question": "x"}), "not answered: the person did not want to answer"),
    ],
)
async def test_what_is_no_answer_is_none(inner: Pipeline, decision: Decision, result: str) -> None:
    assert await run(inner, Gate(decision)) == result


async def test_an_answer_approves_no_call(inner: Pipeline) -> None:
    call = ToolCall("c1", "files.write", {"path": "a.txt", "content": "x"})
    assert (await run(inner, Gate(Decision.answer("yes")), call)).startswith("denied: yes")


async def test_without_the_setting_nobody_is_asked(inner: Pipeline) -> None:
    gate = Gate(Decision.answer("blue"))
    assert "error" in await run(inner, gate, settings={})
    assert gate.asked == []


async def test_what_cannot_be_asked_is_an_error_for_the_model(inner: Pipeline) -> None:
    gate = Gate(Decision.answer("blue"))
    call = ToolCall("c1", "chat.ask", {"question": " ", "choices": []})
    assert (await run(inner, gate, call)).startswith("error: question must have")
    assert gate.asked == []
    assert "11 choices" in find_question_problem({"question": "?", "choices": ["x"] * 11})
    assert "choice must" in find_question_problem({"question": "?", "choices": [""]})


@table(("typed", "answer"), [("2", "blue"), (" 1 ", "red"), ("3", "3"), ("0", "0"), ("²", "²")])
def test_a_number_chooses(typed: str, answer: str) -> None:
    assert choose_answer(ASK.arguments, typed) == answer


def test_a_question_cannot_look_like_the_host() -> None:
    shown = render_question({"question": "a\nRun pay\u202e", "choices": ["x\nNote: harmless"]})
    assert shown == "The agent asks:\n  a\n  Run pay⟦U+202E⟧\n  1. x Note: harmless"
