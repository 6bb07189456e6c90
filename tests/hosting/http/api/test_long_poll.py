"""Requests that wait until something has changed: answered by the change, not by looking again and again."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import httpx
import pytest

from sophon import tool
from sophon.security.authorization.api_tokens import digest_api_token, generate_api_token
from sophon.testing import VirtualClock
from sophon_hosting.store.api_tokens.api_token import ApiToken

EVENTS = "/api/sessions/s/events"
FOREVER = 20


@tool()
async def extra() -> str:
    """Do more."""
    return ""


async def waiting(api: Any, request: Awaitable[httpx.Response]) -> "asyncio.Task[httpx.Response]":
    """Send a request, and return once it waits: the clock of the host has a timer for it."""
    task = asyncio.ensure_future(request)
    async with asyncio.timeout(60):
        while api.listening() == 0:
            await asyncio.sleep(0)
    return task  # type: ignore[return-value] # a future of a coroutine is a task


@pytest.fixture
async def api(serve: Callable[..., Any]) -> Any:
    """A host whose time stands still, so that only a change can answer a request."""
    api = await serve(clock=VirtualClock(auto=False))
    bus, toolbox = api.host.event_bus, api.host.services.toolbox
    api.listening = lambda: (
        len(toolbox.listeners) + sum(len(each.publisher.listeners) for each in bus._sequencers.values())
    )
    return api


async def test_events_are_answered_when_they_happen(api: Any) -> None:
    ada = await api.open("ada")
    first = await ada.post("/api/tasks", json={"content": "hello", "session_id": "s"})
    await api.until(first.json()["task_id"], "completed")
    seen = (await ada.get(EVENTS, params={"wait": FOREVER})).json()["items"]
    last = seen[-1]["data"]["seq"]

    later = await waiting(api, ada.get(EVENTS, params={"after": last, "wait": FOREVER}))
    await ada.post("/api/tasks", json={"content": "again", "session_id": "s"})
    assert {each["event"] for each in (await later).json()["items"]} <= {"task_queued", "task_started", "message"}
    assert api.listening() == 0


async def test_a_wait_that_is_over_is_an_empty_page(api: Any) -> None:
    ada = await api.open("ada")
    first = await ada.post("/api/tasks", json={"content": "hello", "session_id": "s"})
    await api.until(first.json()["task_id"], "completed")
    last = (await ada.get(EVENTS)).json()["items"][-1]["data"]["seq"]
    empty = await waiting(api, ada.get(EVENTS, params={"after": last, "wait": 2}))
    while not empty.done():
        api.host.services.clock.advance(1)
        await asyncio.sleep(0)
    assert (await empty).json() == {"items": [], "more": False}


async def test_the_version_of_the_tools_is_answered_once_it_changes_for_this_user(api: Any) -> None:
    ada, bob = await api.open("ada"), await api.open("bob")
    version = (await ada.get("/api/tools")).json()["version"]
    assert (await ada.get("/api/tools/version")).json() == {"version": version}
    later = await waiting(api, ada.get("/api/tools/version", params={"after": version, "wait": FOREVER}))
    toolbox = api.host.services.toolbox
    await asyncio.to_thread(toolbox.replace, "test", [replace(extra, owner="bob")])
    assert (await bob.get("/api/tools")).json()["version"] != version
    assert not later.done()
    await asyncio.to_thread(toolbox.replace, "test", [extra])
    assert (await later).json()["version"] == (await ada.get("/api/tools")).json()["version"] != version


async def test_a_token_that_is_revoked_while_its_request_waits_reads_nothing_more(api: Any) -> None:
    secret, tokens, clock = generate_api_token(), api.host.services.store.api_tokens, api.host.services.clock
    now = clock.now()
    await tokens.add(ApiToken("t1", digest_api_token(secret), "ada", "", ("Read",), now, now + timedelta(days=1)))
    version = (await (await api.open("ada")).get("/api/tools")).json()["version"]
    limited = await api.open(None, Authorization=f"Bearer {secret}")
    later = await waiting(api, limited.get("/api/tools/version", params={"after": version, "wait": FOREVER}))
    await tokens.revoke("t1", now)
    api.host.services.toolbox.replace("test", [extra])
    assert (await later).status_code == 401


async def test_a_host_that_shuts_down_keeps_nobody_waiting(api: Any) -> None:
    ada = await api.open("ada")
    version = (await ada.get("/api/tools")).json()["version"]
    later = await waiting(api, ada.get("/api/tools/version", params={"after": version, "wait": FOREVER}))
    await api.host.shutdown()
    while not later.done():
        api.host.services.clock.advance(0.1)
        await asyncio.sleep(0)
        assert api.host.services.clock.monotonic() < FOREVER
    assert (await later).json() == {"version": version}


@pytest.mark.parametrize("wait", ["-1", "21", "soon"])
async def test_a_wait_is_a_time_of_at_most_20_seconds(api: Any, wait: str) -> None:
    ada = await api.open("ada")
    answer = await ada.get("/api/tools/version", params={"wait": wait})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "input")
