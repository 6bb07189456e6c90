"""Provisional titles, pins and the archive over HTTP."""

import asyncio
from typing import Any

from sophon.messages import Message
from sophon.stores.sessions.contract import SessionRecord
from sophon_hosting.client_api.authentication import User
from sophon_hosting.client_api.authorized_host import AuthorizedHost
from sophon_hosting.events.wire_event import WireEvent


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
    await AuthorizedHost(api.host, User("ada")).subscribe("a", heard.put_nowait)
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
