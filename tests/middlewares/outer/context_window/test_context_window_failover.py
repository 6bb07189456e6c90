"""A message that is too large for one model is offered to the next, which may have the room."""

import pytest

from sophon import Pipeline, Services
from sophon.errors import MessageTooLarge
from sophon.testing import ScriptedModel
from sophon_middlewares import AgenticLoop, CapabilityRouting, ContextWindow, LlmInvoker, ToolExecution

CHAIN = Pipeline.compose(CapabilityRouting(), ContextWindow(), AgenticLoop(), ToolExecution(), LlmInvoker())
LONG = "a long message " * 4000


async def test_a_larger_window_behind_a_smaller_one_answers() -> None:
    small = ScriptedModel([], name="small", context_window=4_000)
    with ScriptedModel(["read it all"], name="large", context_window=64_000) as large:
        response = await CHAIN.run(Services(models=[small, large]).turn(LONG))

    assert response.text == "read it all"


async def test_it_is_an_error_where_nobody_has_the_room() -> None:
    models = [ScriptedModel([], name=name, context_window=4_000) for name in ("one", "two")]

    with pytest.raises(MessageTooLarge, match="the message is too large"):
        await CHAIN.run(Services(models=models).turn(LONG))
