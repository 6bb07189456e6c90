"""Design 4.1: what a session remembers, whatever became of its turns."""

from typing import Any

import pytest

from sophon import Services, SophonError, tool
from sophon.errors import InputError
from sophon.testing import EventRecorder, FunctionModel, VirtualClock, assert_valid_transcript
from sophon_middlewares.chains import twelve


@tool
async def look(n: int = 0) -> str:
    """Look."""
    return "seen"


async def test_sessions_see_nothing_of_each_other_and_a_turn_without_one_begins_a_new_one() -> None:
    model = FunctionModel(lambda r: _say(f"{sum(m.role == 'user' for m in r.messages)}"))
    services = Services(models=model)
    pipeline = twelve(services)
    ids = ["a", "b", "a", None, None, "b", "a"]
    got = [(await pipeline.run(services.turn("hi", session_id=each))).text for each in ids]
    assert got == ["1", "1", "2", "1", "1", "2", "3"]
    assert await services.history("nobody") == []


async def _say(text: str) -> str:
    return text


def test_an_unknown_planning_mode_or_model_or_setting_is_one_clear_line() -> None:
    with pytest.raises(InputError, match="Sometimes"):
        Services().turn("hi", planning="Sometimes")
    with pytest.raises(SophonError, match="gpt-99"):
        Services().turn("hi", model="gpt-99")
    with pytest.raises(SophonError, match="MaxToolIterations"):
        Services(settings={"AgentExecution": {"MaxToolIteration": 3}})
    with pytest.raises(SophonError, match=r"(?s)Planing.*Topp|Topp.*Planing"):
        Services(settings={"Planing": {}, "ToolFilter": {"Topp": 3}})


async def test_the_offline_model_answers_the_bullets() -> None:
    from sophon import Decision
    from sophon.events import PlanStepChanged, ToolCallStarted

    asked: list[Any] = []

    class Gate:
        async def request(self, request: Any) -> Decision:
            asked.append(request)
            return Decision.approve() if request.kind == "plan" else Decision.reject("no shell today")

    events = EventRecorder()
    services = Services(approvals=Gate(), events=events, clock=VirtualClock())
    pipeline = twelve(services)
    response = await pipeline.run(services.turn("What is 17 * 23, and what day is it today?", session_id="s"))
    assert "391" in response.text
    assert "Thursday" in response.text
    assert {each.tool for each in events.of(ToolCallStarted)} == {"calculator", "datetime.now"}
    text = (
        "First write down that my cat is called Ada, then look up what you know about cats, and finally summarise both "
        "in three steps"
    )
    response = await pipeline.run(services.turn(text, session_id="s"))
    assert [each.kind for each in asked] == ["plan"]
    assert "Ada" in response.text
    assert {each.status for each in events.of(PlanStepChanged)} == {"running", "completed"}
    response = await pipeline.run(services.turn("Run the command: uname -a", session_id="s"))
    assert asked[-1].tool == "system.execute"
    assert "no shell today" in response.text or "reject" in response.text or "denied" in response.text
    assert_valid_transcript(await services.history("s"))


async def test_the_offline_model_runs_the_command_after_approval() -> None:
    from sophon import Decision

    class Gate:
        async def request(self, request: Any) -> Decision:
            return Decision.approve()

    services = Services(approvals=Gate())
    response = await twelve(services).run(services.turn("Run the command: uname -a"))
    assert "Linux" in response.text
