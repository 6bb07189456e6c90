"""The size of a turn's earlier texts is right, and a round costs what it has added."""

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from sophon import ModelRequest, ModelResponse, Services, ToolCall, tool
from sophon.messages import Message, collect_earlier_texts
from sophon.models.reply_size import count_utf8_bytes
from sophon.testing import FunctionModel
from sophon_middlewares.chains import twelve
from sophon_middlewares.inner.llm_invoker.llm_invoker import EarlierTextSize

CALL = [ToolCall("c", "look")]

messages = st.builds(
    Message,
    st.sampled_from(["user", "assistant", "tool"]),
    st.text(max_size=4),
    st.sampled_from([[], CALL]),
    origin=st.sampled_from(["", "", "hint"]),
)


@given(st.lists(st.tuples(st.integers(0, 3), st.lists(messages, max_size=4)), max_size=8))
def test_the_size_is_that_of_the_collected_texts_whatever_is_appended_or_taken_back(
    steps: list[tuple[int, list[Message]]],
) -> None:
    size, transcript = EarlierTextSize(), list[Message]()
    for withdrawn, added in steps:
        del transcript[len(transcript) - min(withdrawn, len(transcript)) :]
        transcript += added
        assert size.count_bytes(transcript) == sum(map(count_utf8_bytes, collect_earlier_texts(transcript)))


class Watched(list[Message]):
    """Messages that count how many of them are read backwards."""

    read = 0

    def __reversed__(self) -> Iterator[Message]:
        for message in list(self)[::-1]:
            self.read += 1
            yield message


async def test_no_round_reads_the_rounds_before_it_again() -> None:
    @tool
    async def look(place: int) -> str:
        """Look."""
        return f"seen {place}"

    rounds = left = 100

    async def answer(request: ModelRequest) -> ModelResponse:
        nonlocal left
        left -= 1
        if left < 0:
            return ModelResponse("done")
        return ModelResponse(f"round {left}", tool_calls=[ToolCall(f"c{left}", "look", {"place": left})])

    settings = {"AgentExecution": {"MaxToolIterations": 2 * rounds}}
    services = Services(models=FunctionModel(answer), tools=[look], settings=settings)
    ctx = services.turn("go")
    ctx.messages = Watched(ctx.messages)
    await twelve(services).run(ctx)
    assert isinstance(ctx.messages, Watched)
    assert len(ctx.messages) > 2 * rounds
    assert ctx.messages.read <= 10 * len(ctx.messages)
