"""Design 4.1: what a session remembers, whatever became of its turns."""

from typing import Any

from sophon import Services, tool
from sophon.testing import EventRecorder, VirtualClock, assert_valid_transcript
from sophon_middlewares.chains import twelve


@tool
async def look(n: int = 0) -> str:
    """Look."""
    return "seen"


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
