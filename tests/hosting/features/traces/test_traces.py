"""Traces over HTTP: one's own, all of them for operators, and without texts for who may not see them."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from sophon.messages import Usage
from sophon.traces.trace import AttemptTrace, NoteTrace, StageTime, ToolTrace, Trace
from sophon.turn.history_redaction import HIDDEN
from sophon_hosting.host_chain import build_configured_chain

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def made(run_id: str, owner: str, minutes: int = 0) -> Trace:
    at = NOON + timedelta(minutes=minutes)
    return Trace(
        run_id=run_id,
        session_id=f"of-{owner}",
        principal=owner,
        channel="hub",
        started_at=at,
        ended_at=at,
        status="failed",
        error={"code": "internal", "message": "the salary is 7"},
        usage=Usage(3, 4, 5),
        stages=(StageTime("Budget", "outer", 0, 1, 0.0, 2.0, 1.0),),
        attempts=(AttemptTrace("a/m", "reply", "ok", 0.0, 5, detail="salary.txt"),),
        tools=(ToolTrace("c", "files.read", "completed", 0.0, 1, '{"path": "salary.txt"}'),),
        notes=(NoteTrace("route_chosen", 0.0, {"model": "a/m", "reason": "it says salary"}),),
    )


@pytest.fixture
async def filled(api: Any) -> Any:
    traces = [made("one", "ada"), made("two", "ada", 1), made("three", "bob", 2)]
    await api.host.services.store.traces.add(traces)
    return api


async def test_users_list_their_own_and_operators_all(filled, ada, olga) -> None:
    async def ids(client: httpx.AsyncClient, query: str = "") -> list[str]:
        return [each["run_id"] for each in (await client.get(f"/api/traces{query}")).json()["items"]]

    assert await ids(ada) == ["two", "one"]
    assert await ids(ada, "?limit=1") == ["two"]
    assert await ids(olga, "?everything=true") == ["three", "two", "one"]
    assert (await ada.get("/api/traces?everything=true")).status_code == 403


async def test_a_list_has_numbers_instead_of_parts(filled, ada) -> None:
    item = (await ada.get("/api/traces")).json()["items"][0]
    assert (item["attempts_count"], item["tools_count"], item["model"]) == (1, 1, "a/m")
    assert not {"stages", "attempts", "tools", "notes"} & item.keys()


async def test_one_trace_is_shown_whole_to_its_owner_and_to_operators(filled, ada, bob, olga) -> None:
    for client in (ada, olga):
        found = (await client.get("/api/traces/one")).json()
        assert found["tools"][0]["arguments"] == '{"path": "salary.txt"}'
        assert found["stages"][0]["own_ms"] == 1.0
    assert (await bob.get("/api/traces/one")).status_code == 404
    assert (await ada.get("/api/traces/unknown")).status_code == 404


async def test_turns_are_counted_per_day(filled, ada, olga) -> None:
    at = filled.host.services.clock.now()
    new = [replace(made(f"new-{owner}", owner), ended_at=at, working_ms=40) for owner in ("ada", "bob")]
    await filled.host.services.store.traces.add(new)
    (mine,) = (await ada.get("/api/usage/turns?days=1")).json()["items"]
    assert (mine["principal"], mine["turns"], mine["failed"], mine["mean_working_ms"]) == ("ada", 1, 1, 40)
    assert len((await olga.get("/api/usage/turns?days=1&everything=true")).json()["items"]) == 2
    assert (await ada.get("/api/usage/turns?everything=true")).status_code == 403


async def test_without_the_permission_no_text_of_a_conversation_is_shown(serve: Any) -> None:
    api = await serve(
        settings={
            "Permissions": {
                "Users": {"ada": {"Level": "ZeroTrust"}, "olga": {"Level": "ZeroTrust"}},
                "Levels": {"ZeroTrust": {"Features": ["Chat", "Export"]}},
            }
        }
    )
    await api.host.services.store.traces.add([made("one", "ada")])
    mine, others = [(await (await api.open(user)).get("/api/traces/one")).json() for user in ("ada", "olga")]
    assert mine["tools"][0]["arguments"] == HIDDEN
    assert "salary.txt" not in str(mine)
    assert "salary" not in str(others)
    assert mine["notes"][0]["data"]["model"] == "a/m"
    assert mine["usage"]["input_tokens"] == 3


async def test_a_running_turn_has_its_trace_up_to_now(serve: Any) -> None:
    api = await serve()
    api.host.replace_chain(build_configured_chain(api.host.services))
    ada, bob = await api.open("ada"), await api.open("bob")
    sent = (await ada.post("/api/tasks", json={"content": "wait", "session_id": "s"})).json()["task_id"]
    await api.until(sent, "running")
    async with asyncio.timeout(60):
        while not (items := (await ada.get("/api/traces")).json()["items"]):
            await asyncio.sleep(0)
    assert [(each["run_id"], each["status"]) for each in items] == [(sent, "running")]
    assert (await ada.get(f"/api/traces/{sent}")).json()["status"] == "running"
    assert (await bob.get(f"/api/traces/{sent}")).status_code == 404
    assert (await bob.get("/api/traces")).json()["items"] == []
    api.release.set()
    await api.until(sent, "completed")
    assert (await ada.get(f"/api/traces/{sent}")).json()["status"] == "completed"


async def test_the_messages_of_a_turn_are_those_of_its_reader(api: Any, ada: Any, bob: Any, olga: Any) -> None:
    tasks = []
    for content in ("hello", "again"):
        sent = (await ada.post("/api/tasks", json={"content": content, "session_id": "s"})).json()["task_id"]
        await api.until(sent, "completed")
        tasks.append(sent)
    for client in (ada, olga):
        items = (await client.get(f"/api/traces/{tasks[1]}/messages")).json()["items"]
        assert [each["role"] for each in items] == ["user", "assistant"]
        assert items[0]["content"] == "again"
    for task in (tasks[1], "unknown"):
        assert (await bob.get(f"/api/traces/{task}/messages")).status_code == 404


async def test_a_trace_is_downloaded_as_otlp_by_its_owner_only(
    filled: Any, ada: httpx.AsyncClient, bob: httpx.AsyncClient
) -> None:
    own = (await ada.get("/api/traces", params={"limit": 1})).json()["items"][0]["run_id"]
    answer = await ada.get(f"/api/traces/{own}", params={"format": "otlp"})
    assert answer.headers["Content-Disposition"] == 'attachment; filename="trace.otlp.json"'
    spans = answer.json()["resourceSpans"][0]["scopeSpans"][0]["spans"]
    assert [each["name"] for each in spans] == ["invoke_agent sophon", "chat m", "execute_tool files.read"]
    assert "salary" not in answer.text
    assert (await bob.get(f"/api/traces/{own}", params={"format": "otlp"})).status_code == 404
    assert (await ada.get(f"/api/traces/{own}", params={"format": "xml"})).status_code == 400
