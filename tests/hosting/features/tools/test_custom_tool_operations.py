"""Custom tools, groups and skills over HTTP: a user's own, an operator's all; sharing is for operators."""

from collections.abc import Callable
from typing import Any

from sophon.events import CustomToolChanged
from sophon.skills.custom_tools import CustomToolDraft
from sophon_hosting.events.wire_event import WireEvent


async def test_tools_are_listed_switched_shared_and_deleted(serve: Callable[..., Any]) -> None:
    api = await serve(settings={"CustomTools": {"Enabled": True}})
    store = api.host.services.assistant.custom_tools
    store.create(CustomToolDraft("double", "Doubles.", "print(1)", {"type": "object"}), owner="ada", at="2026-01-01")
    ada, bob, olga = await api.open("ada"), await api.open("bob"), await api.open("olga")
    [item] = (await ada.get("/api/tools")).json()["custom"]
    assert (item["name"], item["enabled"], item["shared"], "folder" in item) == ("custom.double", True, False, False)
    assert (await bob.get("/api/tools")).json()["custom"] == []
    for name in ("double", "custom.double", "..%2Fdouble"):
        assert (await bob.patch(f"/api/tools/{name}", json={"enabled": False})).status_code == 404
    assert (await bob.delete("/api/tools/double")).status_code == 404
    assert (await ada.patch("/api/tools/double", json={"shared": True})).status_code == 403
    assert (await ada.patch("/api/tools/double", json={"enabled": False})).json()["enabled"] is False
    both = {"enabled": True, "shared": True}
    assert (await olga.patch("/api/tools/custom.double", json=both)).json()["shared"] is True
    assert "custom.double" in [each["name"] for each in (await bob.get("/api/tools")).json()["items"]]
    groups = (await bob.get("/api/tools/groups")).json()["items"]
    assert "custom.double" in next(each["tools"] for each in groups if each["group"] == "custom")
    assert (await ada.delete("/api/tools/double")).json()["ok"]
    assert (await olga.get("/api/tools")).json()["custom"] == []
    assert (await ada.get("/api/skills")).json() == {"items": [], "problems": []}


async def test_each_change_is_told_to_operators_with_who_did_it(serve: Callable[..., Any]) -> None:
    api = await serve(settings={"CustomTools": {"Enabled": True}})
    store = api.host.services.assistant.custom_tools
    store.create(CustomToolDraft("double", "Doubles.", "print(1)", {"type": "object"}), owner="ada", at="2026-01-01")
    heard: list[tuple[Any, ...]] = []

    def hear(event: WireEvent) -> None:
        if event.name == "custom_tool_changed":
            heard.append((event.session_id, *(event.data[name] for name in ("tool", "change", "by"))))

    api.host.event_bus.subscribe_all(hear)
    ada, olga = await api.open("ada"), await api.open("olga")
    await ada.patch("/api/tools/double", json={"enabled": False})
    await olga.patch("/api/tools/double", json={"enabled": True, "shared": True})
    await olga.patch("/api/tools/double", json={"shared": False})
    await ada.delete("/api/tools/double")
    assert (await ada.delete("/api/tools/double")).status_code == 404
    assert heard == [
        ("", "custom.double", change, by)
        for change, by in (
            *(("disabled", "ada"), ("enabled", "olga"), ("shared", "olga"), ("unshared", "olga")),
            ("deleted", "ada"),
        )
    ]
    assert CustomToolChanged.audience == "operators"
