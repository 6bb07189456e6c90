"""Design 4.8 to 4.12: the loop and its detector, parallel calls, approval, execution, and what a model may send."""

import contextlib
import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from sophon import Decision, Risk, Services, ToolCall, tool
from sophon.testing import ScriptedModel, VirtualClock, assert_valid_transcript
from sophon_middlewares.chains import twelve


def call(name: str, call_id: str = "", **arguments: Any) -> ToolCall:
    return ToolCall(id=call_id, name=name, arguments=arguments)


async def results_of(calls: list[ToolCall], tools: list[Any], **more: Any) -> list[str]:
    """What the model reads of its calls, in call order."""
    model = ScriptedModel([calls, "done"])
    more.setdefault("clock", VirtualClock())
    services = Services(models=model, tools=tools, **more)
    response = await twelve(services).run(services.turn("go", session_id="s"))
    assert response.text == "done"
    assert_valid_transcript(model.requests[1].messages)
    assert_valid_transcript(await services.history("s"))
    model.close()
    return [m.content for m in model.requests[1].messages if m.role == "tool"]


@tool
def same() -> str:
    """Always the same."""
    return "same"


class Point(BaseModel):
    x: int
    y: int = 0


@tool
async def typed(
    count: int,
    ratio: float = 1.0,
    tags: list[str] | None = None,
    mode: Literal["fast", "slow"] = "fast",
    point: Point | None = None,
    limit: Annotated[int, Field(ge=1, le=10)] = 5,
) -> str:
    """All kinds of arguments."""
    return json.dumps([count, ratio, tags, mode, point.model_dump() if point else None, limit])


async def test_a_used_id_of_an_earlier_turn_is_a_used_id_too() -> None:
    model = ScriptedModel([[call("same", "x")], "one", [call("same", "x")], "two"])
    services = Services(models=model, tools=[same])
    for _ in range(2):
        await twelve(services).run(services.turn("go", session_id="s"))
    history = await services.history("s")
    assert_valid_transcript(history)
    assert len([c for m in history for c in m.tool_calls]) == 2


async def test_a_gate_that_fails_does_not_run_the_tool() -> None:
    ran: list[int] = []

    @tool(risk=Risk.HIGH)
    def grave() -> str:
        """Grave."""
        ran.append(1)
        return "ran"

    class Broken:
        async def request(self, request: Any) -> Decision:
            raise RuntimeError("the phone is dead")

    services = Services(models=ScriptedModel([[call("grave", "1")], "x"]), tools=[grave], approvals=Broken())
    with contextlib.suppress(RuntimeError):
        await twelve(services).run(services.turn("go"))
    assert not ran


async def test_hostile_calls_never_crash_a_turn() -> None:
    deep: Any = "x"
    for _ in range(50):
        deep = [deep]
    calls = [
        ToolCall("1", "", {}),
        ToolCall("2", "same", {"deep": deep}),
        ToolCall("3", "no/such\nname" * 50, {}),
        ToolCall("4", "typed", {"count": 10**40}),
        ToolCall("5", "typed", {"count": float("nan")}),
        ToolCall("6", "typed", {"count": 1, "tags": ["\ud800"]}),
        ToolCall("7", "same", {"ctx": 1}),
        ToolCall("8", "same", {"": None}),
    ]
    got = await results_of(calls, [same, typed])
    assert len(got) == 8
