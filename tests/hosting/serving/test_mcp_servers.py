"""A host starts its MCP servers after it is ready, and ends their programs when it shuts down."""

import asyncio
import os
import sys
from pathlib import Path

from sophon import Services
from sophon_hosting.host_server import HostServer, bind_address

SERVER = str(Path(__file__).parents[2] / "mcp" / "misbehaving_server.py")


async def test_a_host_runs_its_servers_until_it_shuts_down() -> None:
    server = {"Id": "bad", "Command": sys.executable, "Args": ["-I", SERVER]}
    services = Services(settings={"Mcp": {"Servers": [server]}})
    site = HostServer(services, {})
    address = bind_address("127.0.0.1", 0)
    with address.socket:
        await site.start(address)
        assert site.mcp is site.host.mcp is not None
        assert "bad.echo" not in services.registry, "the host is ready before its servers"
        async with asyncio.timeout(30):
            await site.mcp.wait_settled(30)
        assert "bad.echo" in services.registry
        assert len(_children()) == 1
        await site.shutdown(1)
    assert _children() == []


def _children() -> list[str]:
    """Programs of this test's servers that run as children of this process."""
    own = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command, parent = (
                (folder / "cmdline").read_text(),
                (folder / "stat").read_text().rpartition(")")[2].split()[1],
            )
        except OSError:
            continue
        if SERVER in command and int(parent) == os.getpid():
            own.append(folder.name)
    return own
