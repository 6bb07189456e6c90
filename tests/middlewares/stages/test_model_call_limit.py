"""Request budget: model calls of a turn by how much work its message is."""

from sophon import ModelRequest, ModelResponse, Pipeline, Services, ToolCall
from sophon.decisions.work_classes import find_work_class
from sophon.testing import FunctionModel, VirtualClock
from sophon_middlewares import AgenticLoop, LlmInvoker, SessionEvents, ToolExecution
from sophon_middlewares.stages.model_call_limit import RequestBudget
from tests.tables import table


@table(
    ("text", "tier"),
    [
        ("What time is it?", "simple"),
        ("Please tell me in a few words what the weather in Vienna is like", "normal"),
        ("Send me a report", "complex"),
        ("Every morning tell me the news", "complex"),
        ("Cada día dime algo", "complex"),
        ("First read it, then answer", "complex"),
    ],
)
def test_the_tier_follows_from_the_words(text: str, tier: str) -> None:
    assert find_work_class(text) == tier


@table(
    ("text", "calls"),
    [
        ("count up", 10),
        ("count up and up and up until you are told to stop it", 20),
        ("count up for the report", 36),
    ],
)
async def test_the_last_call_of_the_budget_is_asked_without_tools(text: str, calls: int) -> None:
    asked: list[bool] = []

    async def answer(request: ModelRequest) -> ModelResponse:
        asked.append(bool(request.tools))
        if not request.tools:
            return ModelResponse("done")
        return ModelResponse("", [ToolCall(f"c{len(asked)}", "calculator", {"expression": f"{len(asked)}+1"})])

    services = Services(models=FunctionModel(answer), clock=VirtualClock())
    chain = Pipeline.compose(SessionEvents(), RequestBudget(), AgenticLoop(), ToolExecution(), LlmInvoker())
    response = await chain.run(services.turn(text))
    assert (response.text, response.finish_reason, len(asked)) == ("done", "stop", calls)
    assert asked == [True] * (calls - 1) + [False]
