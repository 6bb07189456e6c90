"""`/api/mcp`: operators see the MCP servers, accept changed tools as they were shown, and hear of changes."""

import asyncio
import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sophon_hosting.events.wire_event import WireEvent
from sophon_hosting.features.mcp.events import McpServerChanged
from sophon_hosting.features.mcp.feature import MCP_SERVERS
from sophon_hosting.features.mcp.supervisor_factory import create_mcp_supervisor
from tests.hosting.http.conftest import Api

SERVER = str(Path(__file__).with_name("client") / "misbehaving_server.py")


async def start(serve: Callable[..., Any], about: Path, heard: list[WireEvent]) -> Api:
    """A host with one server, whose tools are described by a file."""
    server = {"Id": "bad", "Command": sys.executable, "Args": ["-I", SERVER, str(about)]}
    api: Api = await serve(settings={"Mcp": {"Servers": [server]}})
    host = api.host
    host.event_bus.subscribe_all(heard.append)
    servers = create_mcp_supervisor(host.services, {}, host.event_bus)
    assert servers is not None
    host.feature_services.add(MCP_SERVERS, servers)
    servers.start()
    await servers.wait_settled(30)
    return api


async def test_operators_see_servers_and_accept_a_changed_tool_as_it_was_shown(
    serve: Callable[..., Any], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    heard: list[WireEvent] = []
    api = await start(serve, tmp_path / "about", heard)
    host = api.host
    servers = host.feature_services.find(MCP_SERVERS)
    assert servers is not None
    try:
        olga, ada = await api.open("olga"), await api.open("ada")
        (server,) = (await olga.get("/api/mcp")).json()["items"]
        assert (server["id"], server["state"], server["error"]) == ("bad", "ready", "")
        assert {each["name"]: each["risk"] for each in server["tools"]}["die"] == "high"
        assert (await ada.get("/api/mcp")).status_code == 403
        assert any(each["name"] == "bad.echo" for each in (await ada.get("/api/tools")).json()["items"])

        await host.services.registry.find("bad.change").invoke({"text": "New."}, None)
        async with asyncio.timeout(30):
            while servers.list_status()[0].tools[0].state != "changed":
                await asyncio.sleep(0.001)
        (server,) = (await olga.get("/api/mcp")).json()["items"]
        echo = server["tools"][0]
        assert (echo["description"], echo["parameters"]["type"]) == ("echo: New.", "object")
        shown = {"tools": {"echo": echo["digest"]}}
        assert (await ada.post("/api/mcp/bad/accept", json=shown)).status_code == 403
        assert (await olga.post("/api/mcp/other/accept", json=shown)).status_code == 404
        assert (await olga.post("/api/mcp/bad/accept", json={"tools": {"echo": "0" * 64}})).status_code == 400
        assert "bad.echo" not in host.services.registry
        accepted = (await olga.post("/api/mcp/bad/accept", json=shown)).json()
        assert accepted["tools"][0]["state"] == "offered"
        assert "bad.echo" in host.services.registry

        assert (await ada.post("/api/mcp/bad/restart")).status_code == 403
        assert (await olga.post("/api/mcp/other/restart")).status_code == 404
        assert (await olga.post("/api/mcp/bad/restart")).json()["state"] == "ready"
        assert "bad.echo" in host.services.registry
    finally:
        await servers.stop()

    assert {each.name for each in heard} == {McpServerChanged.wire_name}
    assert McpServerChanged.audience == "operators"
    states = [(each.data["state"], each.data["tools"], each.data["changed"]) for each in heard]
    assert ("ready", 9, 0) in states
    assert ("ready", 0, 9) in states
    assert states[-1] == ("ready", 1, 8)


async def test_without_servers_the_list_is_empty(serve: Callable[..., Any]) -> None:
    api = await serve()
    olga = await api.open("olga")
    assert (await olga.get("/api/mcp")).json() == {"items": []}
    assert (await olga.post("/api/mcp/bad/accept", json={"tools": {}})).status_code == 404
