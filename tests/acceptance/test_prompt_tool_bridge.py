"""Design 4.6: a model without function calling uses the same tools, and no tag is ever seen."""

import json
import re
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sophon import Decision, ModelRequest, Risk, Services, tool
from sophon.events import StreamChunk, ToolCallCompleted
from sophon.testing import EventRecorder, FunctionModel, assert_valid_transcript
from sophon_middlewares.chains import twelve
from tests.properties import examples

OPEN, CLOSE = "<tool_call>", "</tool_call>"


@tool
def echo(text: str) -> str:
    """Say it again."""
    return text


@tool
def ping() -> str:
    """No arguments at all."""
    return "pong"


def block(name: str, arguments: Any) -> str:
    return f"{OPEN}{json.dumps({'name': name, 'arguments': arguments})}{CLOSE}"


def tags_in(text: str) -> bool:
    """A tag, or a part of one; one that is shown as text, because it stood in a tool result, is written otherwise."""
    text = re.sub(r"&lt;\s*/?\s*tool_(call|result)", "", text, flags=re.IGNORECASE)
    return "tool_call>" in text or "<tool_" in text


async def test_a_block_in_the_final_call_of_a_plan_is_not_seen_either() -> None:
    async def answer(request: ModelRequest) -> str:
        if request.purpose == "plan":
            return '{"goal": "g", "steps": [{"id": "a", "description": "a"}, {"id": "b", "description": "b"}]}'
        return f"all of it {block('ping', {})} is done" if request.purpose == "reply" else "done"

    events = EventRecorder()
    services = Services(models=FunctionModel(answer, function_calling=False, stream=1), tools=[ping], events=events)
    response = await twelve(services).run(services.turn("go", session_id="s", stream=True, planning="Always"))
    chunks = "".join(each.text for each in events.of(StreamChunk))
    assert chunks == response.text
    assert not tags_in(chunks)
    assert events.of(ToolCallCompleted) == []


async def test_gates_and_suspends_work_through_the_bridge() -> None:
    @tool(risk=Risk.HIGH)
    def grave() -> str:
        """Grave."""
        return "buried"

    class Gate:
        answers = [Decision.suspend(), Decision.approve()]

        async def request(self, request: Any) -> Decision:
            return self.answers.pop(0)

    replies = [f"now {block('grave', {})}{block('ping', {})}", "done"]

    async def answer(request: ModelRequest) -> str:
        return replies.pop(0)

    services = Services(
        models=FunctionModel(answer, function_calling=False, stream=1), tools=[grave, ping], approvals=Gate()
    )
    pipeline = twelve(services)
    ctx = services.turn("go", session_id="s", stream=True)
    assert (await pipeline.run(ctx)).finish_reason == "suspended"
    state = json.loads(json.dumps(ctx.state()))
    assert (await pipeline.run(services.restore(state))).text == "done"


PIECES = st.one_of(
    st.text(alphabet="ab <>/`\n\"{}", max_size=12),
    st.sampled_from([
        OPEN, CLOSE, "```", "```\n", "\n```\n", "~~~\n", "<tool_result>", "</tool_result>", "<tool", "_call>",
        "</tool_",
        block("ping", {}), block("echo", {"text": "</tool_call>"}), block("echo", {"text": "<tool_call>"}), '"', "\\",
        '{"name": "ping"}', "<TOOL_CALL>", "<tool_call >", "< tool_call>", "`<tool_call>`",
    ]),
)  # fmt: skip


def outside_fences(text: str) -> str:
    """Without the lines between fences: generous, since it is only used for what must not be seen."""
    return "" if "```" in text or "~~~" in text else text


@given(st.lists(PIECES, max_size=10).map("".join), st.integers(1, 9))
@settings(max_examples=examples(50), suppress_health_check=[HealthCheck.too_slow])
def test_whatever_is_written_the_stream_the_text_and_the_calls_agree(text: str, size: int) -> None:
    import anyio

    async def turn(stream: int | bool, listening: bool) -> tuple[str, str, list[str]]:
        replies = [text]

        async def answer(request: ModelRequest) -> str:
            assert_valid_transcript(request.messages)
            return replies.pop(0) if replies else "end"

        events = EventRecorder()
        services = Services(
            models=FunctionModel(answer, function_calling=False, stream=stream), tools=[echo, ping], events=events
        )
        ctx = services.turn("go", session_id="s", stream=listening, planning="Never")
        response = await twelve(services).run(ctx)
        chunks = "".join(each.text for each in events.of(StreamChunk))
        results = sorted(each.result for each in events.of(ToolCallCompleted))
        history = "".join(m.content for m in await services.history("s") if m.role == "assistant")
        for seen in (chunks, response.text, history):
            assert not tags_in(outside_fences(seen).lower().replace("<tool_ ", "")), seen
        return response.text, chunks, results

    async def both() -> None:
        whole = await turn(False, False)
        pieces = await turn(size, True)
        assert whole[0] == pieces[0]
        assert whole[2] == pieces[2]
        if pieces[0]:
            assert pieces[1].strip().endswith(pieces[0].strip())

    anyio.run(both)
