"""`/api/memory`: each user has their own entries, operators see all."""

from typing import Any

import httpx

from sophon.stores import MemoryEntry


async def test_memory_is_each_users_own(
    api: Any, ada: httpx.AsyncClient, bob: httpx.AsyncClient, olga: httpx.AsyncClient
) -> None:
    for who in ("ada", "bob"):
        await api.host.services.store.memories.write(MemoryEntry(f"m-{who}", f"{who} likes cats", scope=who))
    assert [each["id"] for each in (await ada.get("/api/memory?q=cats")).json()["items"]] == ["m-ada"]
    assert (await ada.get("/api/memory?everything=true")).status_code == 403
    assert len((await olga.get("/api/memory?everything=true")).json()["items"]) == 2
    assert (await bob.delete("/api/memory/m-ada")).status_code == 404
    assert (await ada.delete("/api/memory/m-ada")).json() == {"ok": True}


async def test_a_person_sees_corrects_exports_and_forgets_what_is_kept(
    api: Any, ada: httpx.AsyncClient, bob: httpx.AsyncClient
) -> None:
    memory = api.host.services.memory
    for name in ("one", "two", "three"):
        await memory.write(MemoryEntry(name, f"{name} cat", scope="ada", sources=("http.request https://example.org",)))
    assert (await ada.get("/api/memory/one")).json()["trusted"] is False
    assert (await bob.get("/api/memory/one")).status_code == 404
    assert (await bob.request("PATCH", "/api/memory/one", json={"text": "mine"})).status_code == 404
    assert (await ada.request("PATCH", "/api/memory/one", json={"text": "a dog"})).json()["trusted"] is True
    items = (await ada.get("/api/memory/export")).json()["items"]
    assert (await bob.post("/api/memory/import", json={"items": items})).json() == {"imported": 3}
    assert (await bob.delete("/api/memory")).status_code == 400
    assert (await bob.delete("/api/memory?ids=one,two")).json() == {"deleted": 0}
    assert (await ada.delete("/api/memory?ids=one,two,none")).json() == {"deleted": 2}
    assert (await bob.delete("/api/memory?all=true")).json() == {"deleted": 3}
    assert [each["id"] for each in (await ada.get("/api/memory?q=cats")).json()["items"]] == ["three"]
