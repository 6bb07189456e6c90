"""Whatever is sent to the API: an answer in JSON, never a 500, and the host goes on."""

import asyncio
import json
import string
import threading
from collections.abc import Iterator
from urllib.parse import quote

import httpx
import pytest
from aiohttp import web
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sophon import Services
from sophon.testing import FunctionModel
from sophon_hosting.client_api.authentication.token_authentication import TokenAuthenticator
from sophon_hosting.host import Host
from sophon_hosting.http.app import make_app
from sophon_hosting.store.sql_host_store import SqlHostStore
from sophon_middlewares.chains import twelve
from tests.properties import examples

WORDS = st.sampled_from(
    ["sessions", "tasks", "approvals", "usage", "queue", "memory", "chain", "models", "me", "s", "messages", "events",
     "fork", "export", "cancel", "dead", "retry", "pause", "resume"]
)  # fmt: skip
PARTS = st.lists(WORDS | st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12), max_size=5)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
KEYS = st.sampled_from(
    ["content", "session_id", "decision", "arguments", "title", "model", "upto", "stream", "planning"]
)
BODIES = st.one_of(
    st.binary(max_size=200), st.dictionaries(KEYS, JSON, max_size=4).map(lambda each: json.dumps(each).encode())
)
QUERY_KEYS = st.sampled_from(["limit", "after", "q", "status", "everything", "open_only", "since", "offset"])
QUERIES = st.dictionaries(
    QUERY_KEYS | st.text(string.ascii_letters, min_size=1, max_size=5), st.text(max_size=8), max_size=3
)


HEADER_NAMES = st.sampled_from(
    ["Accept", "Authorization", "Content-Encoding", "Content-Type", "Cookie", "Host", "If-None-Match", "Origin",
     "Range", "Referer", "Sec-Fetch-Site", "X-Forwarded-Host", "X-Forwarded-For", "X-HTTP-Method-Override",
     "traceparent"]
)  # fmt: skip
HEADER_VALUES = st.sampled_from(
    ["null", "gzip", "br", "*/*", "application/json", "Bearer", "Bearer x", "http://localhost", "https://evil.com",
     "localhost", "[::1]", "[", "bytes=0-", "00-" + "a" * 32 + "-" + "b" * 16 + "-01"]
) | st.text(st.characters(min_codepoint=33, max_codepoint=255, exclude_categories=["Cc"]), max_size=20)  # fmt: skip
HEADERS = st.dictionaries(HEADER_NAMES, HEADER_VALUES.map(lambda value: value.encode("latin-1")), max_size=4)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A host in a loop of its own thread: hypothesis calls from outside of any."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="host", daemon=True)
    thread.start()

    async def answer(request: object) -> str:
        return "fine"

    async def start() -> tuple[Host, web.AppRunner]:
        services = Services(
            models=FunctionModel(answer), settings={"Queue": {"Capacity": 100_000}}, store=SqlHostStore("memory://")
        )
        host = Host(services, twelve(services))
        await host.__aenter__()
        runner = web.AppRunner(make_app(host, TokenAuthenticator({})), access_log=None, auto_decompress=False)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        return host, runner

    async def stop(host: Host, runner: web.AppRunner) -> None:
        await runner.cleanup()
        await host.__aexit__(None, None, None)

    host, runner = asyncio.run_coroutine_threadsafe(start(), loop).result(20)
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    asyncio.run_coroutine_threadsafe(stop(host, runner), loop).result(60)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(20)
    loop.close()


@pytest.fixture(scope="module")
def client(url: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=url, trust_env=False, timeout=30) as client:
        yield client


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    method=st.sampled_from(["GET", "POST", "PATCH", "DELETE", "PUT", "OPTIONS"]),
    parts=PARTS,
    query=QUERIES,
    body=BODIES,
    kind=st.sampled_from(["application/json", "text/plain", "application/json; charset=utf-8"]),
)
def test_whatever_is_sent_is_answered_in_json(client, method, parts, query, body, kind) -> None:
    if parts[-1:] == ["drain"]:
        return
    path = "/api/" + "/".join(quote(part, safe="") for part in parts)
    content = b"" if method == "GET" else body
    told(client.request(method, path, params=query, content=content, headers={"Content-Type": kind}))


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    method=st.sampled_from(["GET", "POST", "PATCH", "DELETE", "OPTIONS"]),
    path=st.sampled_from(
        ["/api/tasks", "/api/sessions", "/api/sessions/s", "/api/queue/resume", "/api/none", "/api/me"]
    ),
    headers=HEADERS,
    body=BODIES,
)
def test_whatever_the_headers_are_the_answer_is_in_json(client, method, path, headers, body) -> None:
    told(client.request(method, path, content=b"" if method == "GET" else body, headers=headers))


def told(answer: httpx.Response) -> None:
    """It is an answer: not the host's fault, in JSON, and with a code if it is an error."""
    assert answer.status_code < 500, answer.text
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    if answer.status_code == 204 or (answer.is_success and "Content-Disposition" in answer.headers):
        return
    assert answer.headers["Content-Type"].startswith("application/json")
    assert answer.json() is not None
    if answer.is_error:
        assert answer.json()["ok"] is False
        assert {"code", "message"} <= answer.json()["error"].keys()


def test_afterwards_the_host_is_well(client: httpx.Client) -> None:
    assert client.post("/api/queue/resume").status_code == 200
    assert client.get("/readyz").status_code == 200
