"""Ten conversations that every chain has: answers, tools, approvals, a limit, a refusal and errors."""

from collections.abc import Mapping, Sequence
from typing import Any

from sophon import Decision, ModelRequest, ModelResponse, Pipeline, Risk, Services, ToolCall, tool
from sophon.errors import ModelError, SophonError
from sophon.events import Event
from sophon.messages import Response
from sophon.testing import EventRecorder, FunctionModel, VirtualClock
from tests.gate import Gate


@tool(group="demo", risk=Risk.NONE, tags=("look",))
async def look(what: str) -> str:
    """Look at something."""
    if what == "nothing":
        raise ValueError("there is nothing")
    return f"saw {what}"


@tool(group="demo", risk=Risk.HIGH, tags=("launch",))
async def launch(rocket: str) -> str:
    """Launch a rocket."""
    return "off it goes"


async def answer(request: ModelRequest) -> ModelResponse:
    """Look at each thing, or launch, then answer with what was seen; `forever` never ends, `fail` fails."""
    asked = max(index for index, each in enumerate(request.messages) if each.role == "user")
    text, offered = request.messages[asked].content, {each.name for each in request.tools}
    words = text.replace(".", "").split()
    called = [call for each in request.messages[asked:] for call in each.tool_calls if call.name != "load_tools"]
    seen = [each.content for each in request.messages[asked:] if each.role == "tool"]
    if words[0] == "fail":
        raise ModelError("the provider is broken")
    wanted = _list_calls(words, len(called))
    if wanted and offered:
        if wanted[0].name not in offered:
            return ModelResponse("", [ToolCall("l", "load_tools", {"groups": ["demo"]})])
        return ModelResponse("", wanted)
    found = [each for each in seen if "Available now" not in each]
    return ModelResponse(f"You wrote: {text} I found: {'; '.join(found) or 'nothing'}.")


def _list_calls(words: Sequence[str], done: int) -> list[ToolCall]:
    if "forever" in words:
        return [ToolCall(f"c{done}", "look", {"what": f"thing {done}"})]
    if words[0] == "launch" and not done:
        return [ToolCall("c0", "launch", {"rocket": words[-1]})]
    if words[0] == "together" and not done:
        return [ToolCall(f"c{n}", "look", {"what": word}) for n, word in enumerate(words[1:])]
    if words[0] == "look" and done < len(words) - 1:
        return [ToolCall(f"c{done}", "look", {"what": words[done + 1]})]
    return []


CONVERSATIONS: Mapping[str, Sequence[str]] = {
    "greeting": ["hello there my friend"],
    "two turns": ["hello there my friend", "tell me more about it"],
    "one call": ["look apple"],
    "calls in turn": ["look apple pear plum"],
    "calls together": ["together apple pear"],
    "a failing tool": ["look nothing"],
    "approved": ["launch the rocket saturn"],
    "rejected": ["launch the rocket saturn"],
    "limit": ["look forever at everything that you can find in this very large house"],
    "error": ["fail now please my friend"],
}
"""The texts of each conversation, one per turn."""

REFUSED = {"Budget": {"Providers": {"function": {"DailyTokens": 0}}}}


async def converse(compose: Any, name: str, **settings: Any) -> tuple[list[Event], list[Response | SophonError]]:
    """Return the events of all turns of a conversation, and how each of them ended."""
    events = EventRecorder()
    gate = Gate(Decision.reject("no") if name == "rejected" else Decision.approve())
    services = Services(
        models=FunctionModel(answer),
        tools=[look, launch],
        clock=VirtualClock(),
        events=events,
        approvals=gate,
        settings={"Planning": {"Mode": "Never"}, **settings},
    )
    chain: Pipeline = compose(services)
    ends: list[Response | SophonError] = []
    for text in CONVERSATIONS[name]:
        try:
            ends.append(await chain.run(services.turn(text, session_id="s", stream=True)))
        except SophonError as error:
            ends.append(error)
    return list(events.events), ends
