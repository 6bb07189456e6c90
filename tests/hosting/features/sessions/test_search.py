"""Search in messages over HTTP: one's own, as one may read them, in pages."""

from typing import Any

import pytest

from sophon.messages import Message, ToolCall
from sophon.stores.sessions.contract import SessionRecord

SECRET = "AKIA" + "IOSFODNN7EXAMPLE"
WITHOUT = {
    "Permissions": {
        "Users": {"bob": {"Level": "ZeroTrust"}},
        "Levels": {"ZeroTrust": {"Features": ["Chat", "Export"]}},
    }
}


def said(text: str, role: str = "user") -> SessionRecord:
    return SessionRecord("message", "t", Message(role, text))  # type: ignore[arg-type]


async def search(client: Any, query: str, **parameters: Any) -> dict[str, Any]:
    answer = await client.get("/api/search", params={"q": query, **parameters})
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_a_hit_names_its_message_and_marks_what_matches(serve: Any) -> None:
    api = await serve()
    sessions = api.host.services.store.sessions
    await sessions.append("trip", [said("The ferry to Rügen"), said("It leaves at nine", "assistant")], owner="ada")
    await sessions.rename("trip", "Holidays")
    found = await search(await api.open("ada"), "ferry rug")
    (hit,) = found["items"]
    assert (hit["session_id"], hit["title"], hit["message_id"], hit["seq"], hit["role"]) == (
        *("trip", "Holidays", "trip:1", 1),
        "user",
    )
    assert hit["snippet"] == [
        {"text": "The ", "match": False},
        {"text": "ferry", "match": True},
        {"text": " to ", "match": False},
        {"text": "Rüg", "match": True},
        {"text": "en", "match": False},
    ]
    assert found["complete"] is True
    message = (await (await api.open("ada")).get("/api/sessions/trip/messages/trip:1")).json()
    assert message["content"] == "The ferry to Rügen"


async def test_nobody_finds_messages_of_others_not_even_an_operator(serve: Any) -> None:
    api = await serve()
    await api.host.services.store.sessions.append("trip", [said("The ferry")], owner="ada")
    for user in ("bob", "olga"):
        assert (await search(await api.open(user), "ferry"))["items"] == []
    assert (await (await api.open(None)).get("/api/search?q=ferry")).status_code == 401


async def test_a_session_whose_name_another_has_is_found_under_the_users_name_for_it(serve: Any) -> None:
    api = await serve()
    for user in ("ada", "bob"):
        client = await api.open(user)
        answer = await client.post("/api/sessions/notes/messages", json={"content": f"ferry of {user}"})
        await api.until(answer.json()["task_id"], "completed")
        (hit, *_) = reversed((await search(client, f"ferry {user}"))["items"])
        assert hit["message_id"].startswith("notes:")


async def test_what_is_redacted_for_the_reader_is_not_found(serve: Any) -> None:
    api = await serve(settings=WITHOUT)
    records = [
        said(f"my key is {SECRET}"),
        SessionRecord("message", "t", Message("assistant", "", [ToolCall("c", "files.read", {"path": "salary.txt"})])),
        SessionRecord("message", "t", Message("tool", "salary: 7", tool_call_id="c")),
    ]
    for user in ("ada", "bob"):
        await api.host.services.store.sessions.append(f"of-{user}", records, owner=user)
    assert len((await search(await api.open("ada"), SECRET))["items"]) == 1
    bob = await api.open("bob")
    assert (await search(bob, SECRET))["items"] == []
    assert (await search(bob, SECRET[:6]))["items"] == []
    assert (await search(bob, "salary"))["items"] == []
    assert SECRET not in str(await search(bob, "key"))


async def test_pages_follow_each_other(serve: Any) -> None:
    api = await serve()
    await api.host.services.store.sessions.append("s", [said(f"tea {n}") for n in range(5)], owner="ada")
    client = await api.open("ada")
    first = await search(client, "tea", limit=3)
    second = await search(client, "tea", limit=3, cursor=first["next_cursor"])
    assert [[hit["seq"] for hit in page["items"]] for page in (first, second)] == [[5, 4, 3], [2, 1]]
    assert second["next_cursor"] is None


@pytest.mark.parametrize("query", ['"', "tea OR 1=1", "NEAR(a b)", "x" * 4_000, "\x00tea", "%", "'; DROP TABLE x"])
async def test_a_hostile_query_is_plain_text(serve: Any, query: str) -> None:
    api = await serve()
    assert (await search(await api.open("ada"), query))["items"] == []


async def test_a_query_that_no_server_reads_is_refused(serve: Any) -> None:
    api = await serve()
    assert (await (await api.open("ada")).get("/api/search", params={"q": "x" * 10_000})).status_code == 400


@pytest.mark.parametrize("parameters", [{"cursor": "x"}, {"limit": "0"}, {"limit": "101"}, {"owner": "bob"}])
async def test_wrong_parameters_are_errors(serve: Any, parameters: dict[str, str]) -> None:
    api = await serve()
    answer = await (await api.open("ada")).get("/api/search", params={"q": "tea", **parameters})
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "input"
