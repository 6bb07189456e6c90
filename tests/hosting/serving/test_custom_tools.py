"""`sophon tools` beside a host that runs: the host changes the tool itself, at once."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sophon.skills.custom_tools import CustomToolDraft, CustomToolStore
from tests.programs import program

__all__ = ["program"]


async def test_a_command_changes_the_tools_of_a_running_host_at_once(
    program: Callable[..., Any], tmp_path: Path
) -> None:
    store = CustomToolStore(tmp_path / "data" / "custom-tools")
    draft = CustomToolDraft("double", "Doubles.", "print(1)", {"type": "object"})
    store.create(draft, owner="local", at="2026-01-01")
    world = program(CustomTools={"Enabled": True})
    serving = await asyncio.to_thread(world.serve)
    world.set(CustomTools={"Enabled": True}, Hub={"Port": serving.port})

    def names() -> list[str]:
        return [each["name"] for each in serving.get("/api/tools")["items"]]

    async def run(*arguments: str) -> str:
        code, out, errors = await asyncio.to_thread(world.run, "tools", *arguments)
        assert code == 0, errors
        return str(out)

    assert "custom.double" in await asyncio.to_thread(names)  # before any turn
    assert "is off from the next turn" in await run("disable", "double")
    assert "custom.double" not in await asyncio.to_thread(names)
    assert "is on from the next turn" in await run("enable", "double")
    assert "custom.double" in await asyncio.to_thread(names)
    double = store.folder / "double" / "main.py"
    double.write_text("print(2)")
    listed = (await asyncio.to_thread(serving.get, "/api/tools"))["custom"]
    assert [(each["name"], each["enabled"], "changed" in each["problem"]) for each in listed] == [
        ("custom.double", False, True)
    ]
    assert "was deleted" in await run("delete", "double")
    assert "custom.double" not in await asyncio.to_thread(names)
    assert json.loads(await run("list", "--json"))["items"]
