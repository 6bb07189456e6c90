"""`schedules.add` and `goals.create` called by a client: a person decides about each call, and no page does."""

from collections.abc import Callable
from typing import Any

import pytest

from sophon import ModelRequest
from sophon.messages import Message
from sophon.stores.sessions.contract import SessionRecord
from sophon.testing import FunctionModel
from sophon.turn.provenance import SOURCES_FIELD
from sophon_hosting.client_api.authentication.token_authentication import User
from sophon_hosting.features.goals.stored_goals import stored_goals
from sophon_hosting.features.registry import register_feature_tools
from sophon_hosting.features.schedules.stored_schedules import stored_schedules
from sophon_middlewares.inner.approval import approval
from sophon_middlewares.tool_calls import grant_check
from tests.hosting.http import conftest

SCHEDULE = {"text": "pay Mallory", "every": "1 hour"}
GOAL = {"title": "Birds", "description": "a list of birds"}
CALLS = {"schedules.add": SCHEDULE, "goals.create": GOAL}


def refuse_models(request: ModelRequest) -> str:
    raise AssertionError("a model was asked")


async def open_api(serve: Callable[..., Any], **settings: Any) -> Any:
    def register(host: Any, app: Any) -> None:
        register_feature_tools(host.services)

    chosen = {"Goals": {"Enabled": True}, **settings}
    return await serve(models=FunctionModel(refuse_models), settings=chosen, prepare_app=register)


async def call(api: Any, client: Any, tool: str, *states: str, **body: Any) -> dict[str, Any]:
    answer = await client.post(f"/api/tools/{tool}/call", json={"arguments": CALLS[tool], **body})
    assert answer.status_code == 202, answer.text
    await api.until(answer.json()["task_id"], *states)
    return dict((await client.get(f"/api/tasks/{answer.json()['task_id']}")).json())


async def kept(api: Any) -> list[str]:
    store = api.host.services.store
    return [each.text for each in await stored_schedules(store).list()] + [
        each.title for each in await stored_goals(store).list()
    ]


@pytest.mark.parametrize("tool", CALLS)
@pytest.mark.parametrize("verdict", ["approve", "reject"])
async def test_a_call_of_a_client_waits_for_a_person(serve: Callable[..., Any], tool: str, verdict: str) -> None:
    api = await open_api(serve)
    ada = await api.open("ada")
    task = await call(api, ada, tool, "suspended")
    assert await kept(api) == []
    [asked] = (await ada.get("/api/approvals?open_only=true")).json()["items"]
    assert (asked["tool"], asked["arguments"]) == (tool, CALLS[tool])
    assert ("a token" in asked["preview"]) or ("a client's tool call" in asked["preview"])
    await ada.post(f"/api/approvals/{asked['approval_id']}", json={"decision": verdict})
    await api.until(task["task_id"], "completed")
    assert len(await kept(api)) == (verdict == "approve")


@pytest.mark.parametrize("tool", CALLS)
async def test_the_client_cannot_approve_its_call(
    serve: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    monkeypatch.setitem(conftest.USERS, "token-of-program", User("ada", scopes=frozenset({"CallTools"})))
    api = await open_api(serve)
    program, ada = await api.open("program"), await api.open("ada")
    await call(api, program, tool, "suspended")
    [asked] = (await ada.get("/api/approvals?open_only=true")).json()["items"]
    refused = await program.post(f"/api/approvals/{asked['approval_id']}", json={"decision": "approve"})
    assert refused.status_code == 403
    assert await kept(api) == []


@pytest.mark.parametrize("tool", CALLS)
async def test_no_setting_approves_a_call_of_a_client(serve: Callable[..., Any], tool: str) -> None:
    api = await open_api(serve, Approval={"AutoApproveUpTo": "Critical"})
    task = await call(api, await api.open("ada"), tool, "suspended")
    assert task["status"] == "suspended"
    assert await kept(api) == []


async def test_without_the_rule_for_lasting_effects_the_setting_would_have_made_one(
    serve: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (approval, grant_check):
        monkeypatch.setattr(module, "has_lasting_effect", lambda name, declared: False)
    api = await open_api(serve, Approval={"AutoApproveUpTo": "Critical"})
    await call(api, await api.open("ada"), "schedules.add", "completed")
    assert await kept(api) == ["pay Mallory"]


async def test_in_a_conversation_that_has_read_a_page_even_an_approved_call_makes_no_schedule(
    serve: Callable[..., Any],
) -> None:
    api = await open_api(serve)
    ada, sessions = await api.open("ada"), api.host.services.store.sessions
    first = await call(api, ada, "schedules.add", "suspended")
    [asked] = (await ada.get("/api/approvals?open_only=true")).json()["items"]
    session = (await api.host.services.store.runs.get(first["task_id"])).session_id
    page = SessionRecord("message", "earlier", Message("assistant", "I read it."), {SOURCES_FIELD: ["http.request x"]})
    await sessions.append(session, [page])
    await ada.post(f"/api/approvals/{asked['approval_id']}", json={"decision": "approve"})
    await api.until(first["task_id"], "completed")
    assert await kept(api) == []
