"""The audit log, users and API tokens over HTTP: for operators only."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from sophon.security.authorization.api_tokens import digest_api_token, generate_api_token
from sophon.stores.audit.audit_event import AuditEvent
from sophon_hosting.store.api_tokens.api_token import ApiToken
from tests.hosting.features.settings.conftest import Started


async def fill(started: Started, count: int) -> None:
    now = started.site.services.clock.now()
    events = [
        AuditEvent(now, "executed", f"s{n % 2}", tool="pay", principal="ada", risk="high", texts={"input": f"{n}"})
        for n in range(count)
    ]
    await started.site.services.store.audit.append(events)


async def test_the_log_is_paged_filtered_and_verified(start: Callable[..., Any]) -> None:
    started = await start()
    await fill(started, 5)
    olga = await started.open("olga")

    first = (await olga.get("/api/audit", params={"limit": 2})).json()
    rest = (await olga.get("/api/audit", params={"limit": 3, "before": first["items"][-1]["number"]})).json()
    filtered = (await olga.get("/api/audit", params={"session_id": "s1", "tool": "pay"})).json()
    restricted = (await olga.get("/api/audit", params={"capability_level": "restricted", "limit": 1})).json()
    none = (await olga.get("/api/audit", params={"until": "2001-01-01"})).json()

    assert [each["number"] for each in first["items"] + rest["items"]] == [5, 4, 3, 2, 1]
    assert (first["more"], rest["more"]) == (True, False)
    assert [each["input"] for each in filtered["items"]] == ["3", "1"]
    assert [each["capability_level"] for each in restricted["items"]] == ["restricted"]
    assert none == {"items": [], "more": False}
    assert (await olga.get("/api/audit/verify")).json() == {"entries": 5, "broken": None, "problem": ""}


@pytest.mark.parametrize(
    "query",
    [
        "event=nothing",
        "risk=huge",
        "since=yesterday",
        "capability_level=high",
        "before=0",
        "limit=1001",
        "tool=",
        "x=1",
    ],
)
async def test_a_bad_query_gets_an_error(start: Callable[..., Any], query: str) -> None:
    assert (await (await (await start()).open("olga")).get(f"/api/audit?{query}")).status_code == 400


PATHS = [
    ("GET", "/api/audit"),
    ("GET", "/api/audit/verify"),
    ("GET", "/api/users"),
    ("GET", "/api/tokens"),
    ("POST", "/api/tokens"),
    ("DELETE", "/api/tokens/x"),
    ("GET", "/api/logs"),
    ("GET", "/api/settings"),
    ("GET", "/api/setup"),
]


@pytest.mark.parametrize(("method", "path"), PATHS)
async def test_only_operators_may_and_tokens_only_with_the_scope(
    start: Callable[..., Any], method: str, path: str
) -> None:
    started = await start()
    secret, now = generate_api_token(), started.site.services.clock.now()
    reader = ApiToken("r", digest_api_token(secret), "olga", "", ("Read", "Chat"), now)
    await started.site.services.store.api_tokens.add(reader)
    body = {"user": "ada", "scopes": ["Read"]} if method == "POST" else None

    ada = await (await started.open("ada")).request(method, path, json=body)
    read = await (await started.open("olga", Authorization=f"Bearer {secret}")).request(method, path, json=body)
    nobody = await (await started.open("olga", Authorization="")).request(method, path, json=body)

    assert (ada.status_code, ada.json()["error"]["code"]) == (403, "forbidden")
    assert (read.status_code, read.json()["error"]["code"]) == (403, "scope_needed")
    assert nobody.status_code == 401
    assert len(await started.site.services.store.api_tokens.list(None)) == 1


async def test_a_token_is_shown_once_works_and_is_revoked(start: Callable[..., Any]) -> None:
    started = await start()
    olga = await started.open("olga")
    made = await olga.post("/api/tokens", json={"user": "ada", "scopes": ["read"], "name": "script", "days": 3})
    secret = made.json()["token"]
    client = await started.open("ada", Authorization=f"Bearer {secret}")

    assert (made.status_code, made.headers["Cache-Control"]) == (201, "no-store")
    assert (await client.get("/api/me")).json()["scopes"] == ["Read"]
    listed = await olga.get("/api/tokens")
    assert secret not in listed.text
    (row,) = listed.json()["items"]
    assert (row["user"], row["name"], row["scopes"], row["status"]) == ("ada", "script", ["Read"], "valid")

    assert (await olga.delete(f"/api/tokens/{row['id']}")).json()["status"] == "revoked"
    assert (await client.get("/api/me")).status_code == 401
    revoked, created = await started.audit()
    assert (created["capability"], created["rule"], created["outcome"]) == ("token", row["id"], "created")
    assert json.loads(created["input"])["scopes"] == ["Read"]
    assert revoked["outcome"] == "revoked"
    assert secret not in json.dumps([created, revoked])


async def test_a_token_makes_no_tokens(start: Callable[..., Any]) -> None:
    started = await start()
    secret, now = generate_api_token(), started.site.services.clock.now()
    await started.site.services.store.api_tokens.add(
        ApiToken("o", digest_api_token(secret), "olga", "", ("Operator",), now)
    )
    client = await started.open("olga", Authorization=f"Bearer {secret}")
    answer = await client.post("/api/tokens", json={"user": "olga", "scopes": ["CallTools"]})
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "forbidden")
    assert (await client.get("/api/tokens")).status_code == 200


BODIES: list[dict[str, Any]] = [
    {},
    {"user": "ada", "scopes": []},
    {"user": "ada", "scopes": ["Everything"]},
    {"user": "ada", "scopes": ["Operator"]},
    {"user": "eve", "scopes": ["Read"]},
    {"user": "ada", "scopes": ["Read"], "days": 0},
    {"user": "ada", "scopes": ["Read"], "name": "x" * 101},
    {"user": "ada", "scopes": "Read"},
    {"user": "ada", "scopes": ["Read"], "token": "mine"},
]


@pytest.mark.parametrize("body", BODIES)
async def test_a_bad_token_is_not_made(start: Callable[..., Any], body: dict[str, Any]) -> None:
    started = await start()
    answer = await (await started.open("olga")).post("/api/tokens", json=body)
    assert answer.status_code == 400, answer.text
    assert await started.site.services.store.api_tokens.list(None) == []
    assert await started.audit() == []


async def test_users_are_listed_with_their_levels(start: Callable[..., Any]) -> None:
    started = await start(Permissions={"Users": {"ada": {"Level": "ZeroTrust"}}})
    answer = (await (await started.open("olga")).get("/api/users")).json()
    found = {each["user"]: (each["level"], each["operator"]) for each in answer["items"]}
    assert found == {"ada": ("ZeroTrust", False), "olga": ("Admin", True)}
    assert "Operator" in answer["scopes"]
