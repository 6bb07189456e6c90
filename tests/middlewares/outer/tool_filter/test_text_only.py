"""Turns of people who may use no tool: no schemas, no bridge, only text."""

import pytest

from sophon import ModelRequest, Pipeline, Services
from sophon.testing import FunctionModel, VirtualClock
from sophon_middlewares import AgenticLoop, LlmInvoker, PromptToolBridge, SessionEvents, ToolExecution
from sophon_middlewares.chains import twelve
from sophon_middlewares.stages.tool_split import ToolSplit
from tests.tables import table

BLOCK = '<tool_call>{"name": "calculator", "arguments": {"expression": "1+1"}}</tool_call>'
NOBODY = {"Permissions": {"Users": {"eve": {"Level": "ZeroTrust"}}}}
ASKED: list[ModelRequest] = []


async def answer(request: ModelRequest) -> str:
    ASKED.append(request)
    return f"a text with {BLOCK}"


@pytest.fixture(autouse=True)
def _nothing_asked() -> None:
    ASKED.clear()


def split(services: Services) -> Pipeline:
    return Pipeline.compose(
        SessionEvents(), ToolSplit(), PromptToolBridge(), AgenticLoop(), ToolExecution(), LlmInvoker()
    )


@table("chain", [twelve, split])
@table("function_calling", [True, False])
async def test_without_a_permitted_tool_a_turn_is_text_only(chain: object, function_calling: bool) -> None:
    ASKED.clear()
    services = Services(
        models=FunctionModel(answer, function_calling=function_calling), clock=VirtualClock(), settings=NOBODY
    )
    response = await chain(services).run(services.turn("hello there", principal="eve"))
    [request] = ASKED
    assert (list(request.tools), request.tool_choice) == ([], "none")
    assert [message.role for message in request.messages] == ["user"], "no tool prompt"
    assert response.text == f"a text with {BLOCK}", "a block is text where there are no tools"
    assert (response.tool_rounds, response.finish_reason) == (0, "stop")


@table("chain", [twelve, split])
async def test_with_tools_the_same_block_is_a_call(chain: object) -> None:
    ASKED.clear()
    services = Services(models=FunctionModel(answer, function_calling=False), clock=VirtualClock())
    await chain(services).run(services.turn("hello there"))
    assert len(ASKED) > 1
    assert "calculator" in ASKED[0].messages[0].content
