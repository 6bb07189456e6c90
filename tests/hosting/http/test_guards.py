import httpx
import pytest


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
    assert "Authorization" in asked.headers["Access-Control-Allow-Headers"]
    answer = await (await api.open("ada", Origin=page)).get("/api/me")
    assert (answer.status_code, answer.headers["Access-Control-Allow-Origin"]) == (200, page)


async def test_the_own_page_may(api) -> None:
    client = await api.open("ada", Origin=api.url)
    assert (await client.get("/api/me")).status_code == 200


async def test_every_answer_says_how_it_is_to_be_taken(ada: httpx.AsyncClient) -> None:
    for path in ("/api/me", "/", "/healthz", "/api/nothing"):
        headers = (await ada.get(path)).headers
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert "default-src 'none'" in headers["Content-Security-Policy"]


async def test_bodies_that_are_none_are_told_with_their_place(ada: httpx.AsyncClient) -> None:
    async def post(content: bytes, kind: str = "application/json") -> tuple[int, str]:
        answer = await ada.post("/api/tasks", content=content, headers={"Content-Type": kind})
        return answer.status_code, answer.json()["error"]["message"]

    assert await post(b'{"content": ') == (400, "the body is no JSON: unexpected end of data (line 1, column 13)")
    status, message = await post(b'{"content": 5, "sesion_id": "s"}')
    assert status == 400
    assert "content: Input should be a valid string" in message
    assert "sesion_id: Extra inputs are not permitted" in message
    assert (await post(b"content=hello", "application/x-www-form-urlencoded"))[0] == 400
    assert (await post(b"[]"))[0] == 400
    assert (await post(b"[" * 100_000))[0] == 400


async def test_a_body_that_is_too_large_is_refused(ada: httpx.AsyncClient) -> None:
    answer = await ada.post("/api/tasks", json={"content": "x" * 10_000_000})
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")
    answer = await ada.post("/api/tasks", json={"content": "x" * 300_000})
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")
    assert (await ada.get("/api/tasks")).json() == {"items": []}


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
