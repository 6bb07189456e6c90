"""The header of a host's model requests, as it arrives at a provider on loopback."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

pytest.importorskip("opentelemetry.sdk")

from aiohttp import web

from sophon import Services
from sophon.models.model import ModelInfo
from sophon.models.providers.openai.model import OpenAIModel
from sophon.traces.trace_context import HEADER, parse_traceparent
from sophon_hosting.store.sql_host_store import SqlHostStore
from tests.hosting.telemetry.collector import serve
from tests.hosting.telemetry.test_export import run

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@dataclass
class LoopbackProvider:
    """Speaks OpenAI's API, and keeps the header of each request."""

    url: str = ""
    headers: list[str | None] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.Response:
        self.headers.append(request.headers.get(HEADER))
        choice = {"index": 0, "message": {"role": "assistant", "content": "hello"}, "finish_reason": "stop"}
        head = {"id": "c1", "object": "chat.completion", "created": 1, "model": "small"}
        return web.json_response({**head, "choices": [choice], "usage": {"prompt_tokens": 1, "completion_tokens": 1}})


@pytest.fixture
async def provider() -> AsyncIterator[LoopbackProvider]:
    provider, app = LoopbackProvider(), web.Application()
    app.router.add_post("/v1/chat/completions", provider.answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    provider.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    yield provider
    await runner.cleanup()


def services_of(provider: LoopbackProvider, endpoint: str | None) -> Services:
    model = OpenAIModel(ModelInfo("small", "openai", streaming=False), base_url=provider.url)
    settings = {"Planning": {"Mode": "Never"}}
    return Services(
        store=SqlHostStore("memory://"),
        models=model,
        settings=settings if endpoint is None else settings | {"Telemetry": {"Endpoint": endpoint}},
    )


async def test_the_sender_the_span_and_the_request_are_of_one_trace(provider: LoopbackProvider) -> None:
    with serve() as collector:
        await run(services_of(provider, collector.url), trace=TRACE, traceparent=f"00-{TRACE}-{SPAN}-01")
        chat = collector.find("chat small")
    [sent] = map(parse_traceparent, provider.headers)
    assert sent is not None
    assert (sent.trace_id, sent.span_id, chat.trace_id.hex()) == (TRACE, chat.span_id.hex(), TRACE)


async def test_without_a_sender_the_trace_is_the_hosts_own(provider: LoopbackProvider) -> None:
    with serve() as collector:
        await run(services_of(provider, collector.url))
    [sent] = map(parse_traceparent, provider.headers)
    assert sent is not None
    assert sent.trace_id != TRACE


async def test_an_exporter_that_raises_never_fails_the_turn(
    provider: LoopbackProvider, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("no spans today")

    monkeypatch.setattr("sophon_hosting.telemetry.sdk_spans.SpanBuilder.build", fail)
    with serve() as collector:
        done = await run(services_of(provider, collector.url))
    assert done.status == "completed"
    assert "could not be exported" in caplog.text
    assert not collector.spans
