"""Sandbox of a server's program: bubblewrap in front of its command."""

from pathlib import Path
from typing import Final

import anyio.to_thread

from sophon.builtin_tools.programs import describe_exposed, describe_missing
from sophon.mcp.server_unusable import ServerUnusable
from sophon.private_files import make_private_folder
from sophon.processes.sandbox_policy import SandboxLimits, SandboxPolicy, build_arguments, read_system_links
from sophon.processes.sandbox_probe import probe_sandbox
from sophon.settings import McpServerSettings, Settings

FOLDER: Final = "mcp-servers"
"""Folder of the host in which each sandboxed server has one of its own."""


async def confine(
    server: McpServerSettings, command: tuple[str, ...], settings: Settings, folder: Path
) -> tuple[str, ...]:
    """Return the command in a sandbox. Raises ServerUnusable where there is none: it never runs outside.

    The sandbox hides files, processes and, if `Offline`, the network. The limits of `Guards.Sandbox` on memory and time
    are those of one command, and not of a server that runs for days: they are not set.
    """
    sandbox = await probe_sandbox(settings.guards.sandbox.program)
    if sandbox.problem:
        raise ServerUnusable(f"Sandbox: {describe_missing(sandbox)}")
    policy = build_server_policy(server, settings, folder)
    exposed = await anyio.to_thread.run_sync(describe_exposed, policy, settings, folder)
    if exposed:
        raise ServerUnusable(f"Sandbox: {exposed}")
    missing = [str(path) for path in (*policy.readable, *policy.writable) if not path.exists()]
    if missing:
        raise ServerUnusable(f"Sandbox: there is no {missing[0]}")
    await anyio.to_thread.run_sync(make_private_folder, policy.folder)
    arguments = build_arguments(policy, read_system_links(), sandbox.options)
    return (sandbox.program, *arguments, "--", *command)


def build_server_policy(server: McpServerSettings, settings: Settings, folder: Path) -> SandboxPolicy:
    """Return what the program of a server sees: its own folder, and what the settings list. Pure."""
    return SandboxPolicy(
        folder=(folder / FOLDER / server.id).absolute(),
        limits=SandboxLimits(memory_bytes=settings.guards.sandbox.memory_mb * 1024 * 1024),
        readable=tuple((folder / path.expanduser()).absolute() for path in server.readable),
        writable=tuple((folder / path.expanduser()).absolute() for path in server.writable),
        network=server.sandbox == "Network",
    )
