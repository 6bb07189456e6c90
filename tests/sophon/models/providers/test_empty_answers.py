"""Answers without an answer, over real HTTP: each is one clear error, or an empty reply, and the turn asks again."""

from typing import Any

import pytest
from aiohttp import web

from sophon import Services
from sophon.errors import BadRequest, ModelError, ProviderUnavailable
from sophon.models.gateway.api_keys import ApiKeyPool
from sophon.models.gateway.failover_gateway import ModelGateway
from sophon.models.gateway.provider import Provider
from sophon.testing import VirtualClock
from sophon_middlewares.chains import twelve

ATTEMPTS = 4

WITHOUT_ANSWER: dict[str, Any] = {
    "no choices": {"id": "c", "choices": []},
    "null choices": {"id": "c", "choices": None},
    "nothing": {},
    "a list": [],
    "a text": "x",
    "null": None,
    "a null choice": {"choices": [None]},
    "a choice without a message": {"choices": [{"index": 0, "finish_reason": "stop"}]},
    "choices that are no list": {"choices": {"a": 1}},
    "an error": {"error": {"message": "upstream broke", "code": 502}},
    "an error text": {"error": "upstream broke"},
    "no choices and an error of nothing": {"error": None, "choices": []},
}


def gateway_of(model: Any) -> ModelGateway:
    clock = VirtualClock()
    return ModelGateway([Provider("p1", [model], keys=ApiKeyPool(("sk-one",), clock))], clock=clock)


async def failure(model: Any, request: Any) -> ModelError:
    gateway = gateway_of(model)
    with pytest.raises(ModelError) as caught:
        await gateway.call(request, gateway.candidates())
    return caught.value


@pytest.mark.parametrize("body", WITHOUT_ANSWER.values(), ids=WITHOUT_ANSWER.keys())
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_a_body_without_an_answer_is_retried_and_then_one_error(
    adapters: Any, server: Any, kit: Any, body: Any, stream: bool
) -> None:
    if stream and body == WITHOUT_ANSWER["a choice without a message"]:
        pytest.skip("in a stream this is the chunk that ends it")
    model, heard = await adapters.at(server), []
    for _ in range(ATTEMPTS):
        if stream and isinstance(body, dict):
            server.streams(*([body] if body else []))
        else:
            server.answers(body)
    error = await failure(model, kit.request(model, on_text=heard.append if stream else None))
    if adapters.kind == "litellm" and body == {"error": "upstream broke"}:
        assert isinstance(error, BadRequest | ProviderUnavailable)  # litellm makes it a 400, which is not retried
    else:
        assert isinstance(error, ProviderUnavailable)
        assert len(server.seen) == ATTEMPTS
    assert heard == []


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_a_web_page_is_an_error_of_the_provider(adapters: Any, server: Any, kit: Any, stream: bool) -> None:
    model = await adapters.at(server)

    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(text="<html><body>Please log in</body></html>", content_type="text/html")

    server.script += [answer] * ATTEMPTS
    error = await failure(model, kit.request(model, on_text=(lambda _: None) if stream else None))
    assert isinstance(error, ProviderUnavailable)


@pytest.mark.parametrize(
    ("chunks", "kind"),
    [
        ([], ProviderUnavailable),
        ([b": keep-alive\n\n"], ProviderUnavailable),
        (["role"], ProviderUnavailable),
        (["role", "role", "role"], ProviderUnavailable),
        (["usage"], ProviderUnavailable),
        (["role", "content_filter"], BadRequest),
        (["role", "error"], ProviderUnavailable),
    ],
    ids=["nothing", "comments", "role", "roles", "usage", "content filter", "error"],
)
async def test_a_stream_without_an_answer_is_one_error(
    adapters: Any, server: Any, kit: Any, chunks: list[Any], kind: type[ModelError]
) -> None:
    known = {
        "role": kit.chunk(role="assistant", content=""),
        "usage": kit.usage,
        "content_filter": kit.chunk(finish="content_filter"),
        "error": kit.chunk(finish="error"),
    }
    if adapters.kind == "ollama" and "content_filter" in chunks:
        pytest.skip("Ollama has no content filter")
    model, heard = await adapters.at(server), []
    for _ in range(ATTEMPTS):
        server.streams(*[each if isinstance(each, bytes) else known[each] for each in chunks])
    error = await failure(model, kit.request(model, on_text=heard.append))
    assert (type(error), heard) == (kind, [])


@pytest.mark.parametrize("finish", ["content_filter", "error"])
async def test_a_whole_answer_that_was_withheld_is_one_error(
    filtered_adapters: Any, server: Any, kit: Any, finish: str
) -> None:
    model = await filtered_adapters.at(server)
    for _ in range(ATTEMPTS):
        server.answers(kit.whole({"role": "assistant", "content": None}, finish=finish))
    if filtered_adapters.kind == "litellm" and finish == "error":
        gateway = gateway_of(model)  # litellm reports `stop`: an empty reply, which the turn asks for again
        assert (await gateway.call(kit.request(model), gateway.candidates())).text == ""
    else:
        assert isinstance(await failure(model, kit.request(model)), BadRequest | ProviderUnavailable)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_null_content_is_asked_for_again_twice_and_then_told_as_an_empty_reply(
    adapters: Any, server: Any, kit: Any, stream: bool
) -> None:
    model = await adapters.at(server)
    for _ in range(3):
        if stream:
            server.streams(kit.chunk(role="assistant", content=None), kit.stop)
        else:
            server.says(None)
    clock = VirtualClock()
    provider = Provider("p1", [model], keys=ApiKeyPool(("sk-one",), clock))
    services = Services(models=[provider], clock=clock)
    response = await twelve(services).run(services.turn("Hello", stream=stream, planning="never"))
    assert (response.finish_reason, response.detail["reason"]) == ("error", "empty_reply")
    assert len(server.seen) == 3
