import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon import Services, ToolCall, tool
from sophon.errors import ResponseTooLarge
from sophon.messages import Message
from sophon.models.gateway.failover_gateway import ModelGateway
from sophon.models.gateway.options import GatewayOptions
from sophon.models.gateway.provider import Provider
from sophon.models.model import ModelRequest, ModelResponse
from sophon.models.reply_size import MAX_PIECES, ReplySize, count_utf8_bytes
from sophon.testing import EventRecorder, FunctionModel, VirtualClock
from sophon_middlewares.chains import twelve
from tests.tables import table

KILOBYTE = 1024


@given(st.lists(st.text(max_size=20), max_size=20))
def test_a_size_is_that_of_the_text_in_utf8(texts: list[str]) -> None:
    size = ReplySize()
    for text in texts:
        size.add(text)
    assert size.bytes == len("".join(texts).encode())
    assert count_utf8_bytes("".join(texts)) == size.bytes


def test_a_reply_in_too_many_pieces_is_refused() -> None:
    size = ReplySize()
    size.pieces = MAX_PIECES
    with pytest.raises(ResponseTooLarge, match="pieces"):
        size.add("x")


def test_a_value_that_contains_itself_is_counted_once() -> None:
    value: dict[str, object] = {"a": "xyz"}
    value["self"] = value
    size = ReplySize()
    size.add_value(value)
    assert size.bytes == len("a") + len("xyz") + len("self")


@table(
    "response",
    [
        ModelResponse("x" * 2000),
        ModelResponse("x", reasoning="x" * 2000),
        ModelResponse("x", [ToolCall("1", "t", {"a": ["x" * 2000]})]),
        ModelResponse("x", [ToolCall("1", "t", {"x" * 2000: 1})]),
        ModelResponse("x", [ToolCall("1", "t", {"a": list(range(2000))})]),
        ModelResponse("x", [ToolCall("1", "x" * 2000, {})]),
        ModelResponse("x", reasoning_fields={"thinking_blocks": [{"signature": "x" * 2000}]}),
    ],
)
@table("streams", [False, True])
async def test_a_model_of_ones_own_has_the_same_limit(response: ModelResponse, streams: bool) -> None:
    async def answer(_: ModelRequest) -> ModelResponse:
        return response

    model = FunctionModel(answer, stream=100 if streams else False)
    gateway = ModelGateway(
        [Provider("own", [model])], clock=VirtualClock(), options=GatewayOptions(max_reply_bytes=KILOBYTE)
    )
    request = ModelRequest([Message("user", "x")], [], model.info, on_text=(lambda _: None) if streams else None)
    with pytest.raises(ResponseTooLarge) as caught:
        await gateway.call(request, gateway.candidates())
    assert (len(model.requests), caught.value.provider) == (1, "own")


async def test_the_texts_of_a_turn_before_its_tool_calls_have_the_limit_of_one_reply() -> None:
    @tool()
    async def noop(number: int) -> str:
        """Do nothing."""
        return str(number)

    rounds = 0

    async def answer(_: ModelRequest) -> ModelResponse:
        nonlocal rounds
        rounds += 1
        return ModelResponse("word " * 100, [ToolCall(f"c{rounds}", "noop", {"number": rounds})])

    events = EventRecorder()
    settings = {"AgentExecution": {"MaxReplyBytes": 2 * KILOBYTE}, "Planning": {"Mode": "Never"}}
    services = Services(
        models=FunctionModel(answer), tools=[noop], clock=VirtualClock(), settings=settings, events=events
    )
    turn = services.turn("Hello")
    with pytest.raises(ResponseTooLarge):
        await twelve(services).run(turn)
    assert rounds == 5
    assert sum(len(each.content) for each in turn.messages if each.role == "assistant") <= 2 * KILOBYTE
