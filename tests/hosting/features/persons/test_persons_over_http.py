"""`/api/persons`: each user exports and forgets themselves, operators everybody, and a running host keeps nothing."""

import json

import httpx
import orjson

from sophon.messages import Message
from sophon.stores.memories.contract import MemoryEntry
from sophon.stores.sessions.contract import SessionRecord


async def test_a_person_is_exported_and_forgotten_by_a_running_host(api, ada: httpx.AsyncClient) -> None:
    memory = api.host.services.memory
    receipt = (await ada.post("/api/tasks", json={"content": "hello", "session_id": "s"})).json()
    await api.until(receipt["task_id"], "completed")
    await memory.write(MemoryEntry("m", "Ada plays the bassoon", scope="ada", sources=()))
    assert not await memory.is_empty("ada")
    lines = [orjson.loads(line) for line in (await ada.get("/api/persons/ada")).text.splitlines()]
    assert [each["kind"] for each in lines][:2] == ["person", "session"]
    assert any(each["kind"] == "memory" for each in lines)
    bob, olga = await api.open("bob"), await api.open("olga")
    for answer in (await bob.get("/api/persons/ada"), await bob.delete("/api/persons/ada")):
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
    assert (await olga.get("/api/persons/ada")).status_code == 200

    done = (await ada.delete("/api/persons/ada")).json()

    assert (done["deleted"]["sessions"], done["deleted"]["memories"]) == (1, 1)
    assert done["other_sessions"] == []
    assert (await ada.get("/api/sessions")).json()["items"] == []
    assert await memory.search("bassoon", scope="ada") == []
    assert (await olga.delete("/api/persons/system")).status_code == 400


async def test_a_half_of_a_surrogate_pair_does_not_break_off_the_export(api, ada: httpx.AsyncClient) -> None:
    sessions = api.host.services.store.sessions
    await sessions.get_or_create("s", "ada")
    await sessions.append("s", [SessionRecord("message", "r", Message("user", "half \ud83d of it"))], owner="ada")
    lines = [json.loads(line) for line in (await ada.get("/api/persons/ada")).text.splitlines()]
    (session,) = [each for each in lines if each["kind"] == "session"]
    assert session["records"][0]["message"]["content"] == "half \ud83d of it"
