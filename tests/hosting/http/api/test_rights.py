"""Features by permission level and scopes over HTTP: what is above them answers 403 and says what it needs."""

from collections.abc import Callable
from typing import Any

import pytest

from sophon.security.authorization.api_tokens import digest_api_token, generate_api_token
from sophon_hosting.client_api.authentication.token_authentication import User
from sophon_hosting.store.api_tokens.api_token import ApiToken
from tests.hosting.http import conftest

CHAT_ONLY = {"Permissions": {"Users": {"bob": {"Level": "ZeroTrust"}}}, "Hub": {"OpenAiApi": True}}

ABOVE_CHAT = [
    ("POST", "/api/sessions/s/messages", {"content": "hi", "model": "test"}, "ChooseModel"),
    ("PATCH", "/api/sessions/s", {"model": None}, "ChooseModel"),
    ("POST", "/api/traces/x/replay", {"model": "test"}, "ChooseModel"),
    ("PUT", "/api/preferences", {"model": "test"}, "ChooseModel"),
    ("POST", "/api/approvals/x", {"decision": "approve"}, "Approvals"),
    ("GET", "/api/sessions/s/export", None, "Export"),
    ("GET", "/api/memory", None, "Memory"),
    ("DELETE", "/api/memory/m", None, "Memory"),
    ("GET", "/v1/models", None, "OpenAiApi"),
    ("POST", "/v1/chat/completions", {"messages": [{"role": "user", "content": "x"}]}, "OpenAiApi"),
]


@pytest.mark.parametrize(("method", "path", "body", "feature"), ABOVE_CHAT)
async def test_a_feature_above_the_level_answers_403_with_the_level(
    serve: Callable[..., Any], method: str, path: str, body: dict[str, Any] | None, feature: str
) -> None:
    api = await serve(settings=CHAT_ONLY)
    bob, ada = await api.open("bob"), await api.open("ada")
    for client in (bob, ada):
        assert (await client.post("/api/sessions/s/messages", json={"content": "hi"})).status_code == 202
    answer = await bob.request(method, path, json=body)

    assert answer.status_code == 403, answer.text
    error = answer.json()["error"]
    assert error["code"] == "level_needed"
    assert feature in error["message"]
    assert "the level User" in error["message"]
    assert (await ada.request(method, path, json=body)).status_code != 403


async def test_me_names_the_level_and_the_features(serve: Callable[..., Any]) -> None:
    api = await serve(settings=CHAT_ONLY)
    me = (await (await api.open("bob")).get("/api/me")).json()
    assert (me["level"], me["features"], me["scopes"]) == ("ZeroTrust", ["Chat"], None)
    assert (await (await api.open("olga")).get("/api/me")).json()["level"] == "Admin"


READING = ["/api/sessions", "/api/sessions/s", "/api/sessions/s/messages", "/api/tasks", "/api/approvals"]
READING += ["/api/grants", "/api/policy", "/api/sessions/s/events", "/api/sessions/s/export", "/api/usage?session_id=s"]


@pytest.mark.parametrize("path", READING)
async def test_a_token_reads_only_with_the_scope(
    serve: Callable[..., Any], path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(conftest.USERS, "token-of-memory", User("ada", scopes=frozenset({"Memory"})))
    api = await serve()
    ada, limited = await api.open("ada"), await api.open("memory")
    await ada.post("/api/sessions/s/messages", json={"content": "hi"})

    answer = await limited.get(path)
    assert answer.status_code == 403
    assert answer.json()["error"]["code"] == "scope_needed"
    assert (await limited.get("/api/memory")).status_code == 200
    assert (await ada.get(path)).status_code == 200


async def test_a_reading_token_changes_nothing(serve: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(conftest.USERS, "token-of-reader", User("ada", scopes=frozenset({"Read"})))
    api = await serve()
    ada, reader = await api.open("ada"), await api.open("reader")
    task = (await ada.post("/api/sessions/s/messages", json={"content": "wait"})).json()["task_id"]
    attempts = [
        await reader.post("/api/sessions/s/messages", json={"content": "hi"}),
        await reader.patch("/api/sessions/s", json={"title": "mine"}),
        await reader.post("/api/sessions/s/fork", json={}),
        await reader.delete("/api/sessions/s"),
        await reader.post(f"/api/tasks/{task}/cancel"),
    ]
    api.release.set()

    assert [each.status_code for each in attempts] == [403] * 5
    revoked = await reader.delete("/api/grants/grt_1")
    assert (revoked.status_code, revoked.json()["error"].get("scope")) == (403, "Approvals")
    assert {each.json()["error"]["scope"] for each in attempts} == {"Chat"}
    assert (await reader.get("/api/sessions/s")).status_code == 200


async def test_a_revoked_token_is_refused_with_the_next_request(serve: Callable[..., Any]) -> None:
    api = await serve()
    secret, tokens = generate_api_token(), api.host.services.store.api_tokens
    now = api.host.services.clock.now()
    await tokens.add(ApiToken("a1", digest_api_token(secret), "ada", "", ("Read",), now))
    client = await api.open(None, Authorization=f"Bearer {secret}")

    me = (await client.get("/api/me")).json()
    assert (me["user"], me["features"], me["scopes"]) == ("ada", ["FullHistory"], ["Read"])
    assert (await client.get("/api/sessions")).status_code == 200
    await tokens.revoke("a1", now)
    assert (await client.get("/api/sessions")).status_code == 401
