"""The interface as OpenAI's own client uses it, over loopback."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any

import httpx
import openai
import pytest

from sophon import Decision, ModelRequest, ModelResponse, ToolCall
from sophon.errors import RateLimited
from sophon.testing import FunctionModel
from sophon_hosting.host import Host

SUM = ToolCall("c", "calculator", {"expression": "6 * 7"})


class Here:
    """A host, and the requests that its model was asked."""

    host: Host
    url: str

    def __init__(self) -> None:
        self.asked: list[ModelRequest] = []
        self.begun, self.stopped = asyncio.Event(), asyncio.Event()

    async def tasks(self) -> list[str]:
        return [run.status for run in await self.host.services.store.runs.list()]

    async def answer(self, request: ModelRequest) -> str | ModelResponse:
        self.asked.append(request)
        text = request.messages[-1].content
        if text == "remember":
            return ModelResponse("", [ToolCall("m", "memory.write", {"text": "tea"})])
        if text == "look":
            return ModelResponse("Let me look.", [SUM], reasoning="Hm")
        if text == "fail":
            raise RateLimited("too often")
        if text == "wait":
            self.begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                self.stopped.set()
        return f"you said {text}"


@pytest.fixture
def serve(serve: Callable[..., Any]) -> Callable[..., Any]:
    async def start(*, on: bool = True) -> Here:
        here = Here()
        model = FunctionModel(here.answer, name="brain", stream=True)
        api = await serve(models=model, settings={"Hub": {"OpenAiApi": on}})
        here.host, here.url = api.host, api.url
        return here

    return start


@pytest.fixture
async def connect() -> AsyncIterator[Callable[..., openai.AsyncOpenAI]]:
    stack = AsyncExitStack()

    def connect(here: Here, token: str = "token-of-ada") -> openai.AsyncOpenAI:
        http = httpx.AsyncClient(trust_env=False)
        stack.push_async_callback(http.aclose)
        return openai.AsyncOpenAI(base_url=f"{here.url}/v1", api_key=token, max_retries=0, http_client=http)

    yield connect
    await stack.aclose()


HELLO = [{"role": "user", "content": "hello"}]


async def test_a_message_is_answered_and_leaves_nothing_behind(serve, connect) -> None:
    here = await serve()
    answer = await connect(here).chat.completions.create(model="sophon", messages=HELLO)
    assert answer.choices[0].message.content == "you said hello"
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage.total_tokens > 0
    assert await here.host.services.store.sessions.list() == []


async def test_what_was_said_before_and_instructions_reach_the_model(serve, connect) -> None:
    here = await serve()
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "my cat is called Ada"},
        {"role": "assistant", "content": "nice"},
        {"role": "user", "content": "what is she called?"},
    ]
    await connect(here).chat.completions.create(model="brain/brain", messages=messages)
    said = [(each.role, each.content) for each in here.asked[0].messages]
    assert said[-3:] == [("user", "my cat is called Ada"), ("assistant", "nice"), ("user", "what is she called?")]
    assert ("system", "Be brief.") in said


async def test_images_reach_the_model_with_their_messages(serve, connect) -> None:
    here = await serve()
    parts = [
        [{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": f"https://example.org/{text}.png"}}]
        for text in ("first", "second")
    ]
    said = [{"role": "user", "content": parts[0]}, {"role": "assistant", "content": "Well."}]
    await connect(here).chat.completions.create(model="sophon", messages=[*said, {"role": "user", "content": parts[1]}])
    [asked] = here.asked
    assert [(each.content, [image.url for image in each.images]) for each in asked.messages if each.images] == [
        ("first", ["https://example.org/first.png"]),
        ("second", ["https://example.org/second.png"]),
    ]


@pytest.mark.parametrize("place", ["earlier message", "message"])
async def test_after_an_image_what_lasts_is_asked_about(serve, connect, place) -> None:
    here = await serve()
    image = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    before = [{"role": "user", "content": [image]}, {"role": "assistant", "content": "Well."}]
    text = {"type": "text", "text": "remember"}
    said = [*before, {"role": "user", "content": "remember"}]
    if place == "message":
        said = [{"role": "user", "content": [text, image]}]
    store = here.host.services.store
    answer = asyncio.create_task(connect(here).chat.completions.create(model="sophon", messages=said))
    async with asyncio.timeout(60):
        while not (asked := await store.approvals.list()):
            await asyncio.sleep(0.001)
    await here.host.approvals.decide(asked[0].request.id, Decision.reject("no"), "ada")
    await answer
    assert asked[0].request.escalation.rule == "lasting_effect"
    assert "attached file image" in asked[0].request.preview
    assert await store.memories.list_all() == []


async def test_an_answer_is_streamed_with_what_it_used(serve, connect) -> None:
    stream = await connect(await serve()).chat.completions.create(
        model="sophon", messages=HELLO, stream=True, stream_options={"include_usage": True}
    )
    pieces = [each async for each in stream]
    assert "".join(each.choices[0].delta.content or "" for each in pieces if each.choices) == "you said hello"
    assert [each.choices[0].finish_reason for each in pieces if each.choices][-1] == "stop"
    assert pieces[-1].usage.total_tokens > 0


async def test_text_before_a_tool_call_is_in_the_content_streamed_and_whole(serve, connect) -> None:
    client = connect(await serve())
    messages = [{"role": "user", "content": "look"}]
    whole = await client.chat.completions.create(model="sophon", messages=messages)
    stream = await client.chat.completions.create(model="sophon", messages=messages, stream=True)
    streamed = "".join([each.choices[0].delta.content or "" async for each in stream if each.choices])
    assert whole.choices[0].message.content == streamed == "Let me look.\n\nyou said 42"


async def test_the_models_are_listed(serve, connect) -> None:
    assert [each.id async for each in connect(await serve()).models.list()] == ["sophon", "brain/brain"]


async def test_mistakes_are_told_as_the_clients_know_them(serve, connect) -> None:
    here = await serve()
    with pytest.raises(openai.AuthenticationError):
        await connect(here, "wrong").chat.completions.create(model="sophon", messages=HELLO)
    client = connect(here)
    with pytest.raises(openai.BadRequestError, match="messages"):
        await client.chat.completions.create(model="sophon", messages=[])
    result = {"role": "tool", "tool_call_id": "x", "content": "42"}
    with pytest.raises(openai.BadRequestError, match="the client's own tools are not run here"):
        await client.chat.completions.create(model="sophon", messages=[*HELLO, result])
    assert here.asked == []
    with pytest.raises(openai.NotFoundError):
        await client.chat.completions.create(model="no such model", messages=HELLO)
    with pytest.raises(openai.APIStatusError, match="too often"):
        await client.chat.completions.create(model="sophon", messages=[{"role": "user", "content": "fail"}])
    assert await here.host.services.store.sessions.list() == []


async def test_who_goes_away_stops_the_task(serve, connect) -> None:
    here = await serve()
    stream = await connect(here).chat.completions.create(
        model="sophon", messages=[{"role": "user", "content": "wait"}], stream=True
    )
    await asyncio.wait_for(here.begun.wait(), 10)
    await stream.close()
    await asyncio.wait_for(here.stopped.wait(), 10)


async def test_it_is_off_unless_it_is_asked_for(serve, connect) -> None:
    with pytest.raises(openai.NotFoundError):
        await connect(await serve(on=False)).chat.completions.create(model="sophon", messages=HELLO)


@pytest.mark.parametrize("stream", [False, True])
async def test_an_unavailable_store_is_a_503_that_says_when_to_come_again(serve, connect, stream) -> None:
    here = await serve()
    here.host.services.store.health.record_failure("full")
    with pytest.raises(openai.InternalServerError, match="the disk of the store is full") as caught:
        await connect(here).chat.completions.create(model="sophon", messages=HELLO, stream=stream)
    assert (caught.value.status_code, caught.value.response.headers["Retry-After"]) == (503, "5")
    assert caught.value.code == "unavailable"
    assert (await here.tasks(), here.asked) == ([], [])
