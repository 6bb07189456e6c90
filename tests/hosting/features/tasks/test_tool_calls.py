"""A tool call outside of a turn: a task of its own that asks no model, behind everything that guards a call."""

from collections.abc import Callable
from typing import Any

import pytest

from sophon import ModelRequest
from sophon.chain.placement import place
from sophon.testing import FunctionModel
from sophon_hosting.client_api.authentication.token_authentication import User
from sophon_middlewares.chains import clawft, twelve
from sophon_middlewares.chains.additions import GUARD_ORDER, find_guards
from sophon_middlewares.stages.direct_call import build_direct_chain
from tests.hosting.http import conftest

PAY = "/api/tools/pay/call"
BOB = {"arguments": {"to": "Bob"}}


def refuse_models(request: ModelRequest) -> str:
    raise AssertionError("a model was asked")


async def start(client: Any, path: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = await client.post(path, json=body)
    assert answer.status_code == 202, answer.text
    return dict(answer.json())


async def test_a_call_runs_without_a_model_and_its_result_is_the_answer(serve: Callable[..., Any]) -> None:
    api = await serve(
        models=FunctionModel(refuse_models),
        prepare_app=lambda host, _: host.replace_chain(
            place(host.chain, find_guards(host.services.settings.guards).values(), GUARD_ORDER)
        ),
    )
    ada = await api.open("ada")
    task_id = (await start(ada, "/api/tools/datetime.now/call", {}))["task_id"]
    await api.until(task_id, "completed")

    task = (await ada.get(f"/api/tasks/{task_id}")).json()
    events = [each["event"] for each in (await ada.get(f"/api/tasks/{task_id}/events")).json()["items"]]
    assert (task["tool_outcome"], task["finish_reason"]) == ("completed", "stop")
    assert task["answer"].startswith("20")
    assert [each for each in events if each.startswith("task_")] == ["task_queued", "task_started", "task_completed"]
    assert {"tool_call_started", "tool_call_completed"} <= set(events)
    audited = await api.host.services.store.audit.list_entries()
    assert {each.fields["tool"] for each in audited} == {"datetime.now"}


@pytest.mark.parametrize(("verdict", "outcome"), [("approve", "completed"), ("reject", "denied")])
async def test_a_call_of_high_risk_waits_for_a_person(api: Any, verdict: str, outcome: str) -> None:
    ada = await api.open("ada")
    task_id = (await start(ada, PAY, BOB))["task_id"]
    await api.until(task_id, "suspended")
    waiting = (await ada.get("/api/approvals?open_only=true")).json()["items"]
    assert [(each["tool"], each["arguments"]) for each in waiting] == [("pay", {"to": "Bob"})]
    await ada.post(f"/api/approvals/{waiting[0]['approval_id']}", json={"decision": verdict})
    await api.until(task_id, "completed")

    task = (await ada.get(f"/api/tasks/{task_id}")).json()
    assert task["tool_outcome"] == outcome
    assert ("paid Bob" in task["answer"]) is (verdict == "approve")


async def test_the_same_key_makes_one_call(api: Any) -> None:
    ada = await api.open("ada")
    first = await ada.post(PAY, json={**BOB, "client_message_id": "k"})
    again = await ada.post(PAY, json={**BOB, "client_message_id": "k"})
    assert (first.status_code, again.status_code) == (202, 200)
    assert first.json()["task_id"] == again.json()["task_id"]


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [("/api/tools/nothing/call", {}, 404), (PAY, {"arguments": {"too": "Bob"}}, 400), (PAY, {"arguments": 1}, 400)],
)
async def test_what_cannot_run_becomes_no_task(api: Any, path: str, body: dict[str, Any], status: int) -> None:
    ada = await api.open("ada")
    assert (await ada.post(path, json=body)).status_code == status
    assert (await ada.get("/api/tasks")).json()["items"] == []


@pytest.mark.parametrize(("scope", "status"), [("Chat", 403), ("Read", 403), ("CallTools", 202)])
async def test_a_token_needs_the_scope(
    serve: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, scope: str, status: int
) -> None:
    monkeypatch.setitem(conftest.USERS, "token-of-limited", User("ada", scopes=frozenset({scope})))
    api = await serve()
    limited = await api.open("limited")
    answer = await limited.post(PAY, json=BOB)
    assert answer.status_code == status
    if status == 202:
        task_id = answer.json()["task_id"]
        assert (await limited.post("/api/tasks", json={"content": "hi"})).status_code == 403
        assert (await limited.post(f"/api/tasks/{task_id}/cancel")).status_code == 200
        await api.until(task_id, "cancelled")


@pytest.mark.parametrize("chain", [twelve, clawft])
def test_the_chain_of_a_call_keeps_what_guards_it(chain: Callable[..., Any]) -> None:
    names = [type(each).__name__ for each in build_direct_chain(chain(None))]
    names = [each for each in names if each != "ChainDefaults"]  # of clawft: its published limits
    kept = ["SessionEvents", "Budget", "AgenticLoop", "DirectResult", "ParallelExecution", "Approval", "ToolExecution"]
    # The published constants of a chain hold for a call, too.
    assert [name for name in names if name != "ChainDefaults"] == [*kept, "DirectCall"]
