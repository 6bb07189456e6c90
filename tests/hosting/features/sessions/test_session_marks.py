"""Provisional titles, pins and the archive over HTTP."""

import asyncio
from typing import Any

import pytest

from sophon.messages import Message
from sophon.stores.sessions.contract import SessionRecord
from sophon_hosting.client_api.authentication.token_authentication import User
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.client_api.rights import ScopeNeeded
from sophon_hosting.events.wire_event import WireEvent
from sophon_hosting.features.sessions.operations import change_session
from tests.hosting.calls import call


async def ids(client: Any, **query: str) -> list[str]:
    return [each["session_id"] for each in (await client.get("/api/sessions", params=query)).json()["items"]]


async def test_a_conversation_has_a_title_while_its_first_turn_runs(api: Any, ada: Any) -> None:
    answer = await ada.post("/api/sessions/s/messages", json={"content": "wait"})
    session = (await ada.get("/api/sessions/s")).json()
    assert (session["title"], session["title_is_provisional"]) == ("wait", True)
    api.release.set()
    await api.until(answer.json()["task_id"], "completed")
    await ada.patch("/api/sessions/s", json={"title": "Waiting"})
    session = (await ada.get("/api/sessions/s")).json()
    assert (session["title"], session["title_is_provisional"]) == ("Waiting", False)


async def test_marks_change_the_lists_and_every_client_of_the_session_hears_it(api: Any, ada: Any) -> None:
    for name in ("a", "b"):
        record = SessionRecord("message", "t", Message("user", f"about {name}"))
        await api.host.services.store.sessions.append(name, [record], owner="ada")
    heard: asyncio.Queue[WireEvent] = asyncio.Queue()
    await api.host.event_bus.subscribe("a", heard.put_nowait, "ada")
    changed = await ada.patch("/api/sessions/a", json={"pinned": True, "archived": True})
    assert (changed.json()["pinned"], changed.json()["archived"]) == (True, True)
    event = await asyncio.wait_for(heard.get(), 30)
    assert event.name == "session_changed"
    assert {name: event.data[name] for name in ("title", "pinned", "archived")} == {
        "title": "about a",
        "pinned": True,
        "archived": True,
    }
    assert (await ids(ada), await ids(ada, kind="archived"), await ids(ada, kind="all")) == (["b"], ["a"], ["b", "a"])
    await ada.patch("/api/sessions/a", json={"archived": False})
    assert (await ids(ada), await ids(ada, kind="pinned")) == (["b", "a"], ["a"])


async def test_nobody_marks_a_session_of_somebody_else(api: Any, ada: Any, bob: Any) -> None:
    await api.host.services.store.sessions.get_or_create("s", "ada")
    assert (await bob.patch("/api/sessions/s", json={"archived": True})).status_code == 404
    assert (await ada.patch("/api/sessions/s", json={"archived": "yes"})).status_code == 400
    assert (await ada.get("/api/sessions/s")).json()["archived"] is False


@pytest.mark.parametrize(
    ("scopes", "change", "needed"),
    [
        (["Read"], {"pinned": False}, "Chat"),
        (["Read"], {"archived": False}, "Chat"),
        (["Read"], {"planning": None}, "Chat"),
        (["Chat"], {"model": None}, "ChooseModel"),
    ],
)
async def test_who_takes_a_mark_or_a_choice_back_needs_the_permission_for_it(
    office: Any, scopes: list[str], change: dict[str, object], needed: str
) -> None:
    await office.host.services.store.sessions.get_or_create("s", "ada")
    caller = Caller(office.host, User("ada", scopes=frozenset(scopes)))
    with pytest.raises(ScopeNeeded, match=needed):
        await call(caller, change_session, session_id="s", **change)
    assert (await call(office.ada, change_session, session_id="s", **change))["session_id"] == "s"
