import gzip
from collections.abc import AsyncIterator

import httpx
import pytest
from aiohttp import web

from sophon.testing import VirtualClock
from sophon_hosting.client_api.authentication.login_throttle import FIRST_DELAY_SECONDS, FREE_FAILURES


async def test_without_a_token_nothing_under_api_answers(api) -> None:
    client = await api.open(None)
    for path in ("/api/me", "/api/sessions", "/api/nothing"):
        answer = await client.get(path)
        assert (answer.status_code, answer.json()["error"]["code"]) == (401, "unauthorized")
        assert answer.headers["WWW-Authenticate"].startswith("Bearer")


@pytest.mark.parametrize("header", ["Bearer wrong", "Basic token-of-ada", "token-of-ada", "Bearer"])
async def test_a_wrong_token_is_none(api, header: str) -> None:
    client = await api.open(None, Authorization=header)
    assert (await client.get("/api/me")).status_code == 401


async def test_a_token_in_the_address_is_none(api) -> None:
    client = await api.open(None)
    assert (await client.get("/api/me?token=token-of-ada")).status_code == 401


async def test_without_users_everybody_here_is_the_local_operator(serve) -> None:
    client = await (await serve(users=False)).open(None)
    assert (await client.get("/api/me")).json()["user"] == "local"
    assert (await client.get("/api/queue")).status_code == 200


@pytest.mark.parametrize("path", ["/", "/healthz", "/api/me", "/metrics"])
async def test_under_a_foreign_name_nothing_answers(api, path: str) -> None:
    client = await api.open("ada", Host="evil.com")
    answer = await client.get(path)
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "forbidden")


async def test_webhooks_answer_under_any_name(api) -> None:
    client = await api.open(None, Host="evil.com")
    assert (await client.post("/webhooks/telegram")).status_code == 404


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
async def test_a_foreign_page_changes_and_reads_nothing(serve, method: str) -> None:
    client = await (await serve(users=False)).open(None, Origin="https://evil.com")
    answer = await client.request(method, "/api/sessions")
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "forbidden")
    assert "Access-Control-Allow-Origin" not in answer.headers


async def test_a_page_that_is_named_may_ask_first(serve) -> None:
    page = "https://chat.example.org"
    api = await serve(settings={"Hub": {"AllowedOrigins": [page]}})
    client = await api.open(None, Origin=page)
    asked = await client.options("/api/tasks", headers={"Access-Control-Request-Method": "POST"})
    assert asked.status_code == 204
    assert asked.headers["Access-Control-Allow-Origin"] == page
    assert {"Authorization", "Idempotency-Key"} <= {*asked.headers["Access-Control-Allow-Headers"].split(", ")}
    answer = await (await api.open("ada", Origin=page)).get("/api/me")
    assert (answer.status_code, answer.headers["Access-Control-Allow-Origin"]) == (200, page)


async def test_bodies_that_are_none_are_told_with_their_place(ada: httpx.AsyncClient) -> None:
    async def post(content: bytes, kind: str = "application/json") -> tuple[int, str]:
        answer = await ada.post("/api/tasks", content=content, headers={"Content-Type": kind})
        return answer.status_code, answer.json()["error"]["message"]

    assert await post(b'{"content": ') == (
        400,
        "the body is not valid JSON: unexpected end of data (line 1, column 13)",
    )
    status, message = await post(b'{"content": 5, "sesion_id": "s"}')
    assert status == 400
    assert "content: it must be a text" in message
    assert "sesion_id: there is no such field" in message
    assert (await post(b"content=hello", "application/x-www-form-urlencoded"))[0] == 400
    assert (await post(b"[]"))[0] == 400
    assert (await post(b"[" * 100_000))[0] == 400


async def test_a_body_that_is_too_large_is_refused(ada: httpx.AsyncClient) -> None:
    answer = await ada.post("/api/tasks", json={"content": "x" * 10_000_000})
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")
    answer = await ada.post("/api/tasks", json={"content": "x" * 300_000})
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")
    assert (await ada.get("/api/tasks")).json() == {"items": [], "more": False}


async def test_a_body_of_unknown_length_is_bounded_too(ada: httpx.AsyncClient) -> None:
    async def endless():
        for _ in range(30):
            yield b" " * 100_000

    answer = await ada.post("/api/tasks", content=endless(), headers={"Content-Type": "application/json"})
    assert answer.status_code == 413


async def test_what_is_not_there_is_told_in_json(ada: httpx.AsyncClient) -> None:
    answer = await ada.get("/api/nothing")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
    answer = await ada.put("/api/tasks")
    assert (answer.status_code, answer.json()["error"]["code"]) == (405, "method_not_allowed")
    assert "POST" in answer.headers["Allow"]


async def test_an_error_that_nobody_foresaw_shows_its_id_only(api, ada, caplog: pytest.LogCaptureFixture) -> None:
    await api.host.services.store.close()

    class Broken:
        def __getattr__(self, name: str):
            raise RuntimeError("secret of the store")

    api.host.services.store.usage = Broken()
    answer = await (await api.open("olga")).get("/api/usage")
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert answer.json()["error"]["id"] in caplog.text


FORMS = [
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "text/plain",
    "",
    "/",
    "application/jsonp",
]


@pytest.mark.parametrize("kind", FORMS)
@pytest.mark.parametrize("content", [b"", b'{"a": 1}'])
async def test_a_form_changes_nothing_even_without_an_origin(serve, kind: str, content: bytes) -> None:
    api = await serve(users=False)
    client = await api.open(None, **{"Content-Type": kind})
    answer = await client.post("/api/queue/pause", content=content)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "input")
    assert not (await api.host.queue.statistics()).paused


async def test_a_request_without_a_body_needs_no_kind_of_it(olga: httpx.AsyncClient) -> None:
    assert (await olga.post("/api/queue/pause")).json()["paused"] is True
    assert (await olga.post("/api/queue/resume", json={})).json()["paused"] is False


async def no_chunks() -> AsyncIterator[bytes]:
    """A chunked body without a chunk."""
    return
    yield


@pytest.mark.parametrize("kind", [None, "application/octet-stream", "application/json"])
@pytest.mark.parametrize("chunked", [False, True])
async def test_an_empty_body_is_accepted_where_nothing_is_needed(serve, kind: str | None, chunked: bool) -> None:
    api = await serve(users=False)
    client = await api.open(None, **({"Content-Type": kind} if kind else {}))
    options = {"content": no_chunks()} if chunked else {}
    assert (await client.post("/api/queue/pause", **options)).status_code == 200
    options = {"content": no_chunks()} if chunked else {}
    assert (await client.post("/api/tasks", **options)).json()["error"]["message"] == "content: it is missing"


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "text/plain"])
async def test_a_client_with_a_token_may_declare_an_empty_body_as_it_likes(olga, kind: str) -> None:
    headers = {"Content-Type": kind}
    assert (await olga.post("/api/queue/pause", headers=headers)).status_code == 200
    assert (await olga.post("/api/queue/resume", headers=headers, content=b"x=1")).status_code == 400


@pytest.mark.parametrize("chunked", [False, True])
async def test_a_body_that_is_not_empty_must_be_json(olga, chunked: bool) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        yield b"{}"

    content = chunks() if chunked else b"{}"
    answer = await olga.post("/api/queue/pause", content=content, headers={"Content-Type": "application/octet-stream"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "input")


@pytest.mark.parametrize("method", ["POST", "DELETE"])
async def test_a_sandboxed_page_changes_nothing(serve, method: str) -> None:
    client = await (await serve(users=False)).open(None, Origin="null")
    assert (await client.request(method, "/api/sessions/s")).status_code == 403


@pytest.mark.parametrize(
    ("encoding", "content"),
    [("gzip", b"garbage"), ("gzip", gzip.compress(b"{}", mtime=0)), ("deflate", b"x"), ("br", b"x")],
    ids=["garbage", "gzip", "deflate", "br"],
)
async def test_a_compressed_body_is_refused(ada: httpx.AsyncClient, encoding: str, content: bytes) -> None:
    headers = {"Content-Type": "application/json", "Content-Encoding": encoding}
    answer = await ada.post("/api/tasks", content=content, headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "input")
    assert "compressed" in answer.json()["error"]["message"]


async def test_every_route_that_changes_something_bounds_its_body(olga: httpx.AsyncClient) -> None:
    for method, path in (("POST", "/api/queue/pause"), ("DELETE", "/api/sessions/s"), ("PATCH", "/api/sessions/s")):
        answer = await olga.request(method, path, json={"x": "x" * 1_000_001})
        assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")


async def test_who_is_not_known_is_told_so_before_anything_about_the_body(api) -> None:
    client = await api.open(None)
    assert (await client.post("/api/tasks", json={"content": "x" * 2_000_000})).status_code == 401


async def test_a_page_that_is_named_can_read_errors_and_when_to_come_again(serve) -> None:
    page = "https://chat.example.org"
    api = await serve(settings={"Hub": {"AllowedOrigins": [page]}, "Queue": {"Capacity": 1}})
    ada, stranger = await api.open("ada", Origin=page), await api.open(None, Origin=page)
    await api.host.queue.pause()
    await ada.post("/api/tasks", json={"content": "hello"})
    full = await ada.post("/api/tasks", json={"content": "hello"})
    assert (full.status_code, "Retry-After" in full.headers["Access-Control-Expose-Headers"]) == (429, True)
    for answer in (full, await ada.get("/api/nothing"), await stranger.get("/api/me")):
        assert answer.headers["Access-Control-Allow-Origin"] == page
        assert answer.headers["Vary"] == "Origin"


@pytest.mark.parametrize(
    "path",
    ["/%61pi/chain", "/api//chain", "//api/chain", "/./api/chain", "/x/../api/chain", "/api%2fchain", "/API/chain",
     "/webhooks/../api/chain", "/webhooks/%2e%2e/api/chain", "/healthz/../api/chain", "http://x/api/chain"],
)  # fmt: skip
async def test_no_way_of_writing_a_path_leads_past_the_token(api, path: str) -> None:
    answer = await api.raw(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    assert answer.split(b" ")[1] in (b"401", b"404")
    assert b"SessionEvents" not in answer


async def test_a_request_that_names_no_host_is_refused(api) -> None:
    assert b" 403 " in await api.raw(b"GET /healthz HTTP/1.0\r\n\r\n")


async def test_a_body_that_breaks_off_is_no_error_of_the_host(api, caplog: pytest.LogCaptureFixture) -> None:
    head = b"POST /api/tasks HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer token-of-ada\r\n"
    await api.raw(head + b'Content-Type: application/json\r\nContent-Length: 99\r\n\r\n{"content"', hang_up=True)
    assert (await (await api.open("ada")).get("/api/tasks")).json() == {"items": [], "more": False}
    assert "internal error" not in caplog.text


async def test_answers_are_kept_by_nobody_on_the_way(ada: httpx.AsyncClient) -> None:
    assert (await ada.get("/api/me")).headers["Cache-Control"] == "no-store"


async def streamed(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    await response.write(b"a part")
    raise RuntimeError("secret in the middle of an answer")


async def test_an_answer_that_is_streamed_has_all_headers_too(serve) -> None:
    page = "https://chat.example.org"
    api = await serve(settings={"Hub": {"AllowedOrigins": [page]}}, more=[web.get("/api/stream", streamed)])
    client = await api.open("ada", Origin=page)
    async with client.stream("GET", "/api/stream") as answer:
        headers = answer.headers
    assert answer.status_code == 200
    assert (headers["Access-Control-Allow-Origin"], headers["Server"]) == (page, "sophon")
    assert headers["X-Content-Type-Options"] == "nosniff"


async def test_an_error_in_the_middle_of_an_answer_ends_the_line_and_adds_nothing(serve) -> None:
    api = await serve(more=[web.get("/api/stream", streamed)])
    head = b"GET /api/stream HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer token-of-ada\r\n\r\n"
    answer = await api.raw(head)
    assert answer.count(b"HTTP/1.") == 1
    assert answer.endswith(b"a part\r\n")
    assert b"secret" not in answer


async def test_wrong_tokens_and_wrong_webhooks_are_answered_later_and_a_right_token_never(serve) -> None:
    async def refuse(_: web.Request) -> web.Response:
        return web.Response(status=403)

    clock = VirtualClock()
    api = await serve(clock=clock, more=[web.post("/webhooks/telegram", refuse)])
    nobody, ada = await api.open(None), await api.open("ada")
    for _ in range(10):  # no token is no attempt
        assert (await nobody.get("/api/me")).status_code == 401
    delays = [FIRST_DELAY_SECONDS * 2**n for n in range(2)]
    for number in range(FREE_FAILURES + 1):
        answer = await nobody.get("/api/me", headers={"Authorization": f"Bearer wrong-{number}"})
        assert answer.status_code == 401
    assert (await nobody.post("/webhooks/telegram")).status_code == 403
    assert (await ada.get("/api/me")).status_code == 200
    assert [each for each in clock.slept if each in delays] == delays
