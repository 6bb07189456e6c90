"""The published limits of clawdesk on a call that repeats itself: a warning, refusals, the end."""

from collections import Counter

from sophon import ModelResponse, Services, ToolCall
from sophon.events import LoopWarning, ToolCallCompleted
from sophon.testing import EventRecorder, FunctionModel
from sophon_middlewares.chains import clawdesk


async def test_a_call_with_one_result_is_warned_of_at_three_refused_at_five_and_ends_the_turn_at_eight() -> None:
    async def repeat(request: object) -> ModelResponse:
        return ModelResponse(tool_calls=[ToolCall("c", "calculator", {"expression": "1+1"})])

    events = EventRecorder()
    services = Services(models=FunctionModel(repeat), events=events)
    response = await clawdesk(services).run(services.turn("add"))

    assert (response.finish_reason, response.tool_rounds) == ("loop_detected", 8)
    outcomes = Counter(each.outcome for each in events.of(ToolCallCompleted))
    assert outcomes == {"completed": 4, "denied": 4}
    assert next(each.count for each in events.of(LoopWarning) if each.level == "warning") == 3
