"""The transport over real HTTP: one pool for several models, proxies, bodies, event loops."""

import asyncio
import base64
import threading
from typing import Any

import pytest
from aiohttp import web

from sophon.errors import ProviderUnavailable
from sophon.messages import Message
from sophon.models.model import ModelInfo, ModelRequest
from sophon.models.providers.http.transport import HttpTransport
from sophon.models.providers.openai.model import OpenAIModel


def model_at(server: Any, transport: HttpTransport, name: str = "small") -> OpenAIModel:
    return OpenAIModel(ModelInfo(name, "p"), base_url=f"{server.url}/v1", transport=transport)


def note_ports(server: Any, ports: list[int]) -> None:
    """Answer the next request, and note from which port it came."""
    server.says("Good day")
    answer = server.script.pop()

    async def noting(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        ports.append(request.transport.get_extra_info("peername")[1])
        return await answer(request)

    server.script.append(noting)


async def test_models_of_one_transport_use_each_others_connections(server: Any, kit: Any) -> None:
    transport, ports = HttpTransport(), list[int]()
    models = [model_at(server, transport, name) for name in ("small", "large")]
    for model in models:
        note_ports(server, ports)
        await model.complete(kit.request(model))
    for model in models:
        await model.aclose()
    assert len(set(ports)) == 1


async def test_the_connections_stay_open_until_the_last_model_is_closed(server: Any, kit: Any) -> None:
    transport, ports = HttpTransport(), list[int]()
    first, second = model_at(server, transport), model_at(server, transport)
    for model in (first, second):
        note_ports(server, ports)
        await model.complete(kit.request(model))
    await first.aclose()
    note_ports(server, ports)
    await second.complete(kit.request(second))
    await second.aclose()
    note_ports(server, ports)
    await second.complete(kit.request(second))
    await second.aclose()
    assert ports[0] == ports[1] == ports[2] != ports[3]


async def test_a_body_of_several_megabytes_arrives_whole(server: Any, kit: Any) -> None:
    async def answer(_: web.Request) -> web.StreamResponse:
        return web.json_response(kit.whole({"role": "assistant", "content": "Good day"}))

    received: list[int] = []

    async def serve(request: web.Request) -> web.StreamResponse:
        received.append(len((await request.json())["messages"][0]["content"]))
        return await answer(request)

    runner = web.AppRunner(web.Application(client_max_size=2**26), shutdown_timeout=0.1)
    runner.app.router.add_post("/v1/chat/completions", serve)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    model = model_at(server, HttpTransport())
    assert (await model.complete(kit.request(model, "x" * 5_000_000))).text == "Good day"
    await model.aclose()
    await runner.cleanup()
    assert received == [5_000_000]


async def test_a_request_goes_through_the_proxy_with_its_password(
    serve: Any, kit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = await serve()
    monkeypatch.setenv("http_proxy", proxy.url.replace("://", "://ada:hunter2@"))
    monkeypatch.setenv("no_proxy", "")
    model = OpenAIModel(ModelInfo("small", "p"), base_url="http://provider.invalid/v1")
    proxy.says("Good day")
    assert (await model.complete(kit.request(model))).text == "Good day"
    await model.aclose()
    assert proxy.seen[0].headers["Host"] == "provider.invalid"
    assert proxy.seen[0].headers["Proxy-Authorization"] == f"Basic {base64.b64encode(b'ada:hunter2').decode()}"


async def test_a_tunnel_that_the_proxy_refuses_is_a_provider_that_is_not_there(
    serve: Any, kit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = await serve()
    monkeypatch.setenv("https_proxy", proxy.url)
    monkeypatch.setenv("no_proxy", "")
    proxy.refuses(407)
    model = OpenAIModel(ModelInfo("small", "p"), base_url="https://provider.invalid/v1?sig=abc123")
    with pytest.raises(ProviderUnavailable, match="the proxy refused") as caught:
        await model.complete(kit.request(model))
    await model.aclose()
    assert "abc123" not in f"{caught.value}{caught.value.__cause__}"


async def test_user_and_password_of_the_address_take_the_place_of_a_key(server: Any, kit: Any) -> None:
    server.says("Good day")
    model = OpenAIModel(ModelInfo("small", "p"), base_url=server.url.replace("://", "://ada:s%40fe@"))
    await model.complete(kit.request(model))
    await model.aclose()
    assert server.seen[0].headers["Authorization"] == f"Basic {base64.b64encode(b'ada:s@fe').decode()}"


@pytest.mark.parametrize("url", ["host/v1", "ftp://host/v1", "http:///v1", "http://[::1/v1"])
async def test_an_address_that_is_no_http_url_is_named(kit: Any, url: str) -> None:
    try:
        model = OpenAIModel(ModelInfo("small", "p"), base_url=url)
    except ValueError:
        return  # the standard library refuses it at once
    with pytest.raises(ProviderUnavailable, match="not an HTTP URL"):
        await model.complete(kit.request(model))
    await model.aclose()


async def test_a_redirect_is_not_followed(server: Any, kit: Any) -> None:
    server.answers({}, 307, {"location": f"{server.url}/elsewhere"})
    model = model_at(server, HttpTransport())
    with pytest.raises(Exception, match="HTTP 307"):
        await model.complete(kit.request(model))
    await model.aclose()
    assert len(server.seen) == 1


async def test_a_cookie_is_not_sent_back(server: Any, kit: Any) -> None:
    model = model_at(server, HttpTransport())
    whole = kit.whole({"role": "assistant", "content": "Good day"})
    server.answers(whole, headers={"Set-Cookie": "a=b"})
    server.answers(whole)
    for _ in range(2):
        await model.complete(kit.request(model))
    await model.aclose()
    assert "Cookie" not in server.seen[1].headers


async def test_a_model_can_be_used_in_one_event_loop_after_the_other(server: Any, kit: Any) -> None:
    model = model_at(server, HttpTransport())
    texts: list[str] = []

    async def ask() -> None:
        request = ModelRequest([Message("user", "Hello")], [], model.info)
        texts.append((await model.complete(request)).text)

    for _ in range(2):
        # Otherwise the loop would end with an open socket, of which Python warns.
        server.answers(kit.whole({"role": "assistant", "content": "Good day"}), headers={"Connection": "close"})
        await asyncio.to_thread(_run_in_a_loop_of_its_own, ask)
    await model.aclose()
    assert texts == ["Good day", "Good day"]


def _run_in_a_loop_of_its_own(function: Any) -> None:
    assert threading.current_thread() is not threading.main_thread()
    asyncio.run(function())
