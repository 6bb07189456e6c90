"""What only the native adapter does."""

from typing import Any

import pytest

from sophon.errors import ProviderUnavailable
from sophon.messages import Message, ToolCall
from sophon.models.model import ModelInfo, ModelRequest
from sophon.models.providers.http.endpoint import extend_path
from sophon.models.providers.openai.model import OpenAIModel
from tests.tables import table


@pytest.fixture
async def model(server: Any) -> Any:
    model = OpenAIModel(ModelInfo("small", "openai"), base_url=f"{server.url}/v1/")
    yield model
    await model.aclose()


async def test_a_stream_that_was_read_to_its_end_leaves_its_connection_to_the_next_call(
    model: Any, server: Any, kit: Any
) -> None:
    ports: set[int] = set()
    for _ in range(3):
        server.streams("Good", kit.stop)
        handler = server.script.pop()

        async def noting(request: Any, handler: Any = handler) -> Any:
            ports.add(request.transport.get_extra_info("peername")[1])
            return await handler(request)

        server.script.append(noting)
        await model.complete(kit.request(model, on_text=lambda _: None))
    assert len(ports) == 1


async def test_a_whole_answer_in_place_of_a_stream_is_heard_in_one_piece(model: Any, server: Any, kit: Any) -> None:
    heard: list[str] = []
    server.says("Good day")
    response = await model.complete(kit.request(model, on_text=heard.append))
    assert (response.text, heard) == ("Good day", ["Good day"])


@table(
    ("base", "url"),
    [
        ("https://h/v1", "https://h/v1/chat/completions"),
        ("https://h/v1/", "https://h/v1/chat/completions"),
        ("https://h", "https://h/chat/completions"),
        ("https://h/v1/?api-version=1&key=a%2Fb", "https://h/v1/chat/completions?api-version=1&key=a%2Fb"),
        ("https://u:p@h:8080/v1?x=1#part", "https://u:p@h:8080/v1/chat/completions?x=1"),
    ],
)
def test_the_path_is_extended_and_the_query_kept(base: str, url: str) -> None:
    assert extend_path(base, "/chat/completions") == url


async def test_an_error_shows_neither_the_query_nor_the_user_of_the_address(kit: Any) -> None:
    model = OpenAIModel(ModelInfo("small", "p"), base_url="http://ada:hunter2@127.0.0.1:1/v1?sig=abc123")
    with pytest.raises(ProviderUnavailable) as caught:
        await model.complete(kit.request(model))
    await model.aclose()
    assert "http://***@127.0.0.1:1/v1/chat/completions?***" in str(caught.value)
    assert not any(secret in str(caught.value) for secret in ("ada", "hunter2", "abc123"))


async def test_without_a_key_none_is_sent(model: Any, server: Any, kit: Any) -> None:
    server.says("Good day")
    await model.complete(kit.request(model, key=None))
    assert "Authorization" not in server.seen[0].headers


async def test_a_reasoning_model_is_asked_in_its_own_dialect(server: Any, kit: Any) -> None:
    model = OpenAIModel(ModelInfo("gpt-5-mini", "openai"), base_url=server.url)
    server.says("Good day")
    await model.complete(kit.request(model, max_tokens=99, temperature=0.0))
    await model.aclose()
    body = server.seen[0].body
    assert body["max_completion_tokens"] == 99
    assert not {"max_tokens", "temperature"} & set(body)


async def test_a_message_is_made_into_json_once(model: Any, server: Any, kit: Any) -> None:
    message = Message("assistant", "", [ToolCall("a", "time.now", {"zone": "UTC"})])
    for _ in range(2):
        server.says("Good day")
        await model.complete(kit.request(model, messages=[message]))
    first, second = (seen.raw for seen in server.seen)
    assert first == second
    assert message.wire is not None
    assert message.wire in first


async def test_an_error_page_that_is_no_json_is_told_in_short(model: Any, server: Any, kit: Any) -> None:
    from aiohttp import web

    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(status=502, text="<html>" + "x" * 200_000)

    server.script.append(answer)
    request: ModelRequest = kit.request(model)
    with pytest.raises(Exception, match="HTTP 502: <html>x") as caught:
        await model.complete(request)
    assert len(str(caught.value)) < 2100


@pytest.mark.parametrize("is_streamed", [False, True])
async def test_reasoning_in_tags_is_no_text_of_a_model_that_writes_tags(
    server: Any, kit: Any, *, is_streamed: bool
) -> None:
    model = OpenAIModel(ModelInfo("small", "ollama"), base_url=f"{server.url}/v1", has_think_tags=True)
    if is_streamed:
        server.streams("<th", "ink>2 + 2</thi", "nk>\n\nFour.", kit.stop)
    else:
        server.says("<think>2 + 2</think>\n\nFour.")
    text, reasoning = list[str](), list[str]()
    listeners = {"on_text": text.append, "on_reasoning": reasoning.append} if is_streamed else {}
    response = await model.complete(kit.request(model, **listeners))
    await model.aclose()
    assert (response.text, response.reasoning) == ("Four.", "2 + 2")
    assert not is_streamed or ("".join(text), "".join(reasoning)) == ("Four.", "2 + 2")
