"""Change of settings while the host runs: the next turn uses them, they are kept and recorded."""

import json
import logging
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from sophon import Services
from sophon.settings.changeable import list_changeable
from sophon.settings.loader import load_with_layers
from sophon_hosting.host_server import HostServer, bind_address
from sophon_hosting.store.sql_host_store import SqlHostStore
from tests.hosting.features.settings.conftest import TOKENS, Started


async def rows(started: Started) -> dict[str, dict[str, Any]]:
    answer = (await (await started.open("olga")).get("/api/settings")).json()
    return {each["path"]: each for each in answer["items"]}


async def test_each_setting_says_where_it_comes_from(start: Callable[..., Any]) -> None:
    started = await start({"SOPHON__ToolFilter__Top": "7"}, Planning={"Mode": "Never"})
    found = await rows(started)
    assert (found["ToolFilter.Top"]["value"], found["ToolFilter.Top"]["source"]) == (7, "SOPHON__ToolFilter__Top")
    assert found["Planning.Mode"]["source"].endswith("appsettings.json")
    assert (found["Planning.MaxDepth"]["value"], found["Planning.MaxDepth"]["source"]) == (3, None)
    assert {path for path, each in found.items() if each["can_change"]} == set(list_changeable())


async def test_a_constant_of_the_chain_is_shown_as_what_is_in_force(start: Callable[..., Any]) -> None:
    started = await start(Chain={"Name": "clawdesk"}, ContextWindow={"HistoryMessages": 20})
    found = await rows(started)
    shown = {path: (found[path]["value"], found[path]["source"]) for path in found}
    assert shown["AgentExecution.MaxToolIterations"] == (10, "the chain clawdesk")
    assert shown["Failover.RateLimitWaits"] == (1, "the chain clawdesk")
    assert shown["ContextWindow.HistoryTokens"] == (8000, "the chain clawdesk")
    assert shown["ContextWindow.HistoryMessages"][0] == 20
    assert shown["ContextWindow.HistoryMessages"][1].endswith("appsettings.json")
    assert shown["ContextWindow.Fallback"] == (0.7, None)
    assert shown["Routing.Strategy"] == ("Priority", None)

    olga = await started.open("olga")
    changed = (await olga.patch("/api/settings", json={"path": "AgentExecution.MaxToolIterations", "value": 30})).json()
    back = (await olga.delete("/api/settings/AgentExecution.MaxToolIterations")).json()
    assert (changed["value"], back["value"], back["source"]) == (30, 10, "the chain clawdesk")
    assert [json.loads(each["input"])["from"] for each in await started.audit()] == [30, 10]


async def test_the_strategy_of_a_chain_is_shown_as_what_is_in_force(start: Callable[..., Any]) -> None:
    found = await rows(await start(Chain={"Name": "wasp"}))
    assert (found["Routing.Strategy"]["value"], found["Routing.Strategy"]["source"]) == ("Capability", "the chain wasp")
    assert (found["Goals.Enabled"]["value"], found["Goals.Enabled"]["source"]) == (True, "the chain wasp")


async def test_no_secret_is_among_them(start: Callable[..., Any]) -> None:
    secret = "plain-secret-of-telegram-0123456789"
    started = await start(
        {"URL_SECRET": secret},
        Channels={"Telegram": {"Token": secret}},
        Mcp={"Servers": [{"Id": "m", "Command": "true", "Env": {"TOKEN": {"$env": "URL_SECRET"}}}]},
    )
    shown = (await (await started.open("olga")).get("/api/settings")).text
    assert secret not in shown
    assert not any(token in shown for token in TOKENS.values())
    assert '"***"' in shown


VALUES: dict[str, tuple[Any, Any]] = {
    "AgentExecution.MaxToolIterations": (7, 7),
    "AgentExecution.MaxExecutionTime": ("00:01:00", "00:01:00"),
    "AgentExecution.PlanMaxSteps": (5, 5),
    "Budget.Turn.Tokens": (5000, 5000),
    "Budget.Turn.Cost": (0.5, 0.5),
    "Budget.Turn.ToolCalls": (4, 4),
    "Budget.Turn.ActiveTime": ("00:02:00", "00:02:00"),
    "ContextWindow.Trigger": (0.7, 0.7),
    "Planning.Mode": ("Never", "Never"),
    "Planning.MaxDepth": (1, 1),
    "ToolFilter.Top": (3, 3),
    "Logging.Level": ("Warning", "Warning"),
}


def test_every_setting_that_can_change_is_tried() -> None:
    assert set(VALUES) == set(list_changeable())


async def test_each_of_them_holds_for_the_next_turn_and_after_a_restart(start: Callable[..., Any]) -> None:
    started = await start()
    olga = await started.open("olga")
    for path, (value, _) in VALUES.items():
        answer = await olga.patch("/api/settings", json={"path": path, "value": value})
        assert answer.status_code == 200, answer.text
    found = await rows(started)
    host = started.site.host
    view = host.off_the_record.services.settings if host.off_the_record is not None else None
    again = load_with_layers(folder=started.folder, environment=TOKENS).settings

    assert {path: found[path]["value"] for path in VALUES} == {path: each for path, (_, each) in VALUES.items()}
    assert started.site.services.settings == again
    assert view == again
    assert logging.getLogger().level == logging.WARNING
    assert {found[path]["source"] for path in VALUES} == {
        str(started.folder / "data" / ".sophon" / "appsettings.local.json")
    }


async def test_a_turn_uses_the_changed_limit(start: Callable[..., Any]) -> None:
    started = await start()
    olga = await started.open("olga")
    await olga.patch("/api/settings", json={"path": "Budget.Turn.Tokens", "value": 1})

    task = (await olga.post("/api/tasks", json={"content": "What is 17 * 23?"})).json()["task_id"]
    while (found := (await olga.get(f"/api/tasks/{task}")).json())["status"] not in ("completed", "failed"):
        await olga.get(f"/api/sessions/{found['session_id']}/events", params={"wait": 1, "after": 10_000})

    assert "budget" in json.dumps(found)


async def test_a_change_is_recorded_and_taken_back(start: Callable[..., Any]) -> None:
    started = await start()
    olga = await started.open("olga")
    await olga.patch("/api/settings", json={"path": "ToolFilter.Top", "value": 3})
    back = await olga.delete("/api/settings/ToolFilter.Top")

    assert (back.json()["value"], back.json()["source"]) == (10, None)
    reset, changed = await started.audit()
    assert (changed["principal"], changed["rule"], changed["outcome"]) == ("olga", "ToolFilter.Top", "set")
    assert json.loads(changed["input"]) == {"from": 10, "to": 3}
    assert json.loads(reset["input"]) == {"from": 3, "to": 10}


BAD = [
    ("ToolFilter.Top", "many", 400),
    ("ToolFilter.Top", -1, 400),
    ("ToolFilter.Top", None, 400),
    ("Planning.Mode", "Sometimes", 400),
    ("Budget.Turn.Cost", 1e999, 400),
    ("Approval.AskFrom", "None", 404),
    ("Guards.Shield.Enabled", False, 404),
    ("Hub.Users", "[]", 404),
    ("", 1, 400),
    ("__class__", 1, 404),
    ("ToolFilter", 1, 404),
]


@pytest.mark.parametrize(("path", "value", "status"), BAD)
async def test_a_bad_change_gets_an_error_and_changes_nothing(
    start: Callable[..., Any], path: str, value: object, status: int
) -> None:
    started = await start()
    olga = await started.open("olga")
    body = json.dumps({"path": path, "value": value})
    answer = await olga.patch("/api/settings", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == status, answer.text
    assert not (started.folder / "data" / ".sophon").exists()
    assert await started.audit() == []


async def test_what_the_environment_sets_is_changed_there(start: Callable[..., Any]) -> None:
    started = await start({"SOPHON__ToolFilter__Top": "7"})
    answer = await (await started.open("olga")).patch("/api/settings", json={"path": "ToolFilter.Top", "value": 3})
    assert answer.status_code == 400
    assert "SOPHON__ToolFilter__Top" in answer.json()["error"]["message"]


async def test_what_was_edited_in_the_file_waits_for_the_next_start(start: Callable[..., Any]) -> None:
    started = await start()
    values = json.loads((started.folder / "appsettings.json").read_text())
    values["Sophon"]["Approval"] = {"AskFrom": "None"}
    (started.folder / "appsettings.json").write_text(json.dumps(values))
    await (await started.open("olga")).patch("/api/settings", json={"path": "ToolFilter.Top", "value": 3})
    assert started.site.services.settings.approval.ask_from == "High"


async def test_a_host_without_settings_files_says_so() -> None:
    site = HostServer(Services(store=SqlHostStore("memory://")), {})
    address = bind_address("127.0.0.1", 0)
    await site.start(address)
    try:
        async with httpx.AsyncClient(base_url=address.url, trust_env=False) as client:
            answers = [await client.get(path) for path in ("/api/settings", "/api/setup")]
    finally:
        await site.shutdown(0)
    assert [each.status_code for each in answers] == [400, 400]
    assert "without settings files" in answers[0].text
