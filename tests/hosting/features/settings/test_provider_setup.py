"""Set-up of a provider: the key is tried, kept and never shown; the model answers the next message."""

import json
import stat
from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web

from sophon.settings.loader import load_with_layers
from tests.hosting.features.settings.conftest import KEY, TOKENS, Provider, Started


def choice(provider: Provider, **more: Any) -> dict[str, Any]:
    return {"type": "openai_compatible", "key": KEY, "base_url": provider.url, **more}


async def ask(started: Started, text: str = "hello") -> str:
    """Send a message and return the answer."""
    olga = await started.open("olga")
    task = (await olga.post("/api/tasks", json={"content": text})).json()["task_id"]
    while (found := (await olga.get(f"/api/tasks/{task}")).json())["status"] not in ("completed", "failed"):
        await olga.get(f"/api/sessions/{found['session_id']}/events", params={"wait": 1, "after": 10_000})
    return str(found["answer"] or found["error"])


async def test_the_next_message_is_answered_by_the_model_that_was_set_up(
    start: Callable[..., Any], provider: Provider
) -> None:
    started = await start()
    olga = await started.open("olga")
    assert (await olga.get("/api/setup")).json()["is_offline"] is True

    listed = (await olga.post("/api/setup/models", json=choice(provider))).json()
    saved = await olga.post("/api/setup/provider", json=choice(provider, model="my-own"))

    assert [each["model"] for each in listed["items"]] == ["gpt-5-mini", "my-own"]
    assert saved.json() == {"ok": True, "provider": "openai_compatible", "model": "my-own"}
    assert "my-own says OK" in await ask(started)
    assert (await olga.get("/api/setup")).json()["is_offline"] is False


async def test_the_provider_is_still_there_after_a_restart(start: Callable[..., Any], provider: Provider) -> None:
    started = await start()
    await (await started.open("olga")).post("/api/setup/provider", json=choice(provider, model="my-own"))

    settings = load_with_layers(folder=started.folder, environment=TOKENS).settings

    (found,) = settings.providers
    assert (found.id, found.models, found.keys[0].resolve({})) == ("openai_compatible", ("my-own",), KEY)


async def test_the_key_is_in_no_answer_event_log_or_audit_row(start: Callable[..., Any], provider: Provider) -> None:
    started = await start()
    olga = await started.open("olga")
    provider.answer_failure = (500, {"message": f"failed for {KEY}"})
    failed = await olga.post("/api/setup/provider", json=choice(provider, model="my-own"))
    provider.answer_failure = None
    saved = await olga.post("/api/setup/provider", json=choice(provider, model="my-own"))
    await ask(started)

    paths = ("/api/setup", "/api/settings", "/api/audit", "/api/logs", "/api/providers", "/api/models", "/api/policy")
    shown = [failed.text, saved.text, *[(await olga.get(path)).text for path in paths], (await olga.get("/")).text]
    sessions = (await olga.get("/api/sessions")).json()["items"]
    shown += [(await olga.get(f"/api/sessions/{each['session_id']}/events")).text for each in sessions]

    assert (failed.status_code, saved.status_code) == (400, 200)
    assert not [text for text in shown if KEY in text or KEY[10:30] in text]
    exported = [entry.to_line() for entry in await started.site.services.store.audit.list_after(0)]
    assert exported
    assert KEY not in "".join(exported)


async def test_the_key_is_in_a_file_that_only_this_account_reads(start: Callable[..., Any], provider: Provider) -> None:
    started = await start()
    await (await started.open("olga")).post("/api/setup/provider", json=choice(provider, model="my-own"))
    folder = started.folder / "data" / ".sophon"
    (key,) = folder.glob("*.key")

    assert key.read_text() == KEY
    assert {stat.S_IMODE(each.stat().st_mode) for each in folder.iterdir()} == {0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert KEY not in (folder / "appsettings.local.json").read_text()


FAILURES = [
    (web.Response(status=401, text="{}", content_type="application/json"), "wrong_key"),
    (web.Response(status=403, text="{}", content_type="application/json"), "wrong_key"),
    (web.Response(status=402, text="{}", content_type="application/json"), "no_credit"),
    (web.Response(status=404, text="{}", content_type="application/json"), "no_api"),
    (web.Response(status=200, text="<html>", content_type="text/html"), "no_network"),
    (web.Response(status=200, text="[1, {", content_type="application/json"), "no_api"),
    (web.Response(status=500, text="{}", content_type="application/json"), "provider_failed"),
]


@pytest.mark.parametrize(("failure", "reason"), FAILURES)
async def test_a_failed_trial_says_in_one_sentence_why(
    start: Callable[..., Any], provider: Provider, failure: web.Response, reason: str
) -> None:
    started = await start()
    olga = await started.open("olga")
    provider.failure = failure

    answer = await olga.post("/api/setup/models", json=choice(provider))

    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["reason"]) == (400, "trial_failed", reason)
    assert "\n" not in error["message"]
    assert error["message"].count(". ") == 0


SPENT = [
    (429, {"message": "You exceeded your current quota", "code": "insufficient_quota"}, "no_credit"),
    (402, {"message": "Payment required"}, "no_credit"),
    (429, {"message": "slow down"}, "provider_busy"),
    (404, {"message": "The model does not exist"}, "unknown_model"),
    (401, {"message": "who are you"}, "wrong_key"),
]


@pytest.mark.parametrize(("status", "error", "reason"), SPENT)
async def test_a_model_that_does_not_answer_is_not_saved(
    start: Callable[..., Any], provider: Provider, status: int, error: dict[str, Any], reason: str
) -> None:
    started = await start()
    olga = await started.open("olga")
    provider.answer_failure = (status, error)

    answer = await olga.post("/api/setup/provider", json=choice(provider, model="my-own"))

    assert answer.json()["error"]["reason"] == reason
    assert not (started.folder / "data" / ".sophon").exists()
    assert (await olga.get("/api/setup")).json()["is_offline"] is True
    assert await started.audit() == []


async def test_no_network_is_said_so(start: Callable[..., Any], provider: Provider) -> None:
    started = await start()
    body = {"type": "openai_compatible", "key": KEY, "base_url": "http://127.0.0.1:1/v1"}
    answer = await (await started.open("olga")).post("/api/setup/models", json=body)
    assert answer.json()["error"]["reason"] == "no_network"


async def test_a_user_who_is_no_operator_learns_and_changes_nothing(
    start: Callable[..., Any], provider: Provider
) -> None:
    started = await start()
    ada = await started.open("ada")
    attempts = [
        await ada.get("/api/setup"),
        await ada.post("/api/setup/models", json=choice(provider)),
        await ada.post("/api/setup/provider", json=choice(provider, model="my-own")),
        await ada.post("/api/setup/provider", json={"nonsense": 1}),
        await ada.delete("/api/setup/provider"),
        await ada.get("/api/settings"),
        await ada.patch("/api/settings", json={"path": "ToolFilter.Top", "value": 3}),
        await ada.delete("/api/settings/ToolFilter.Top"),
    ]
    assert [each.status_code for each in attempts] == [403] * 8
    assert provider.keys == []


async def test_a_page_of_another_site_sets_up_nothing(start: Callable[..., Any], provider: Provider) -> None:
    started = await start(Hub={})
    body = choice(provider, model="my-own")
    attempts: list[dict[str, Any]] = [
        {"json": body, "headers": {"Origin": "https://evil.example"}},
        {"json": body, "headers": {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"}},
        {"content": json.dumps(body), "headers": {"Content-Type": "text/plain", "Authorization": ""}},
        {"data": {"type": "openai"}, "headers": {"Authorization": ""}},
        {"json": body, "headers": {"Host": "evil.example"}},
    ]
    olga = await started.open("olga")
    answers = [await olga.post("/api/setup/provider", **each) for each in attempts]

    assert {each.status_code for each in answers} <= {400, 403}
    assert provider.keys == []
    assert (await olga.post("/api/setup/provider", json=body)).status_code == 200


HOSTILE: list[dict[str, Any]] = [
    {"type": "../../etc", "key": KEY},
    {"type": "python", "key": KEY},
    {"type": "openai", "key": "with a blank"},
    {"type": "openai", "key": "line\nbreak-and-more"},
    {"type": "openai", "key": "k" * 5000},
    {"type": "openai", "key": ""},
    {"type": "openai"},
    {"type": "openai_compatible", "key": KEY},
    {"type": "openai_compatible", "key": KEY, "base_url": "file:///etc/passwd"},
    {"type": "openai_compatible", "key": KEY, "base_url": "http://127.0.0.1/?key=x"},
    {"type": "openai", "key": {"$file": "/etc/passwd"}},
    {"type": "openai", "key": KEY, "models": ["x"]},
]


@pytest.mark.parametrize("body", HOSTILE)
async def test_hostile_bodies_get_an_error_and_change_nothing(start: Callable[..., Any], body: dict[str, Any]) -> None:
    started = await start()
    olga = await started.open("olga")
    answer = await olga.post("/api/setup/provider", json={**body, "model": "m"})
    assert answer.status_code == 400
    assert KEY not in answer.text
    assert not (started.folder / "data" / ".sophon").exists()


async def test_a_saved_key_goes_to_its_own_address_only(start: Callable[..., Any], provider: Provider) -> None:
    started = await start()
    olga = await started.open("olga")
    await olga.post("/api/setup/provider", json=choice(provider, model="my-own"))

    body = {"type": "openai_compatible", "base_url": provider.url.replace("/v1", "/other")}
    elsewhere = await olga.post("/api/setup/models", json=body)
    count = len(provider.keys)
    own = await olga.post("/api/setup/provider", json={**choice(provider, model="gpt-5-mini"), "key": None})

    assert elsewhere.json()["error"]["reason"] == "wrong_key"
    assert provider.keys[count - 1] is None
    assert own.json()["model"] == "gpt-5-mini"
    assert provider.keys[-1] == f"Bearer {KEY}"


async def test_a_replaced_key_is_deleted_and_a_removed_provider_too(
    start: Callable[..., Any], provider: Provider
) -> None:
    started = await start()
    olga = await started.open("olga")
    folder = started.folder / "data" / ".sophon"
    await olga.post("/api/setup/provider", json=choice(provider, model="my-own"))
    first = list(folder.glob("*.key"))
    await olga.post("/api/setup/provider", json=choice(provider, model="gpt-5-mini"))
    second = list(folder.glob("*.key"))
    removed = await olga.delete("/api/setup/provider")

    assert (len(first), len(second), first == second) == (1, 1, False)
    assert removed.json() == {"ok": True}
    assert list(folder.glob("*.key")) == []
    assert (await olga.get("/api/setup")).json()["is_offline"] is True
    assert (await olga.delete("/api/setup/provider")).status_code == 400


async def test_each_change_has_its_audit_entry(start: Callable[..., Any], provider: Provider) -> None:
    started = await start()
    olga = await started.open("olga")
    await olga.post("/api/setup/provider", json=choice(provider, model="my-own"))
    await olga.delete("/api/setup/provider")

    removed, saved = await started.audit()
    assert (saved["principal"], saved["capability"], saved["rule"], saved["outcome"]) == (
        "olga",
        "provider",
        "openai_compatible",
        "saved",
    )
    assert json.loads(saved["input"])["model"] == "my-own"
    assert removed["outcome"] == "removed"
    assert (await olga.get("/api/audit/verify")).json() == {"entries": 2, "broken": None, "problem": ""}


async def test_providers_of_the_settings_file_stay_as_they_are(start: Callable[..., Any], provider: Provider) -> None:
    started = await start(Providers=[{"Id": "mine", "Type": "offline"}])
    olga = await started.open("olga")
    answer = await olga.post("/api/setup/provider", json=choice(provider, model="my-own"))
    assert answer.status_code == 400
    assert "appsettings.json" in answer.json()["error"]["message"]
    assert "appsettings.json" in (await olga.get("/api/setup")).json()["obstacle"]


async def test_a_folder_that_cannot_be_written_leaves_the_host_as_it_was(
    start: Callable[..., Any], provider: Provider
) -> None:
    started = await start()
    (started.folder / "data").write_text("no folder")
    olga = await started.open("olga")
    answer = await olga.post("/api/setup/provider", json=choice(provider, model="my-own"))
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "settings")
    assert (await olga.get("/api/setup")).json()["is_offline"] is True
