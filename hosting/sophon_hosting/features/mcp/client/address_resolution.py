"""Address of a configured MCP server: its program or URL, with secrets from the environment, and its sandbox."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

import anyio.to_thread

from sophon._python.private_files import make_private_folder
from sophon.builtin_tools.command_environment import build_command_environment
from sophon.builtin_tools.programs import build_sandbox_environment, describe_exposed, describe_missing
from sophon.processes.sandbox_policy import SandboxLimits, SandboxPolicy, build_arguments, read_system_links
from sophon.processes.sandbox_probe import probe_sandbox
from sophon.settings import Secret, Settings
from sophon_hosting.features.mcp.client.server_address import ServerAddress
from sophon_hosting.features.mcp.extra import MISSING_EXTRA, has_extra
from sophon_hosting.features.mcp.settings import McpServerSettings


class ServerUnusable(Exception):
    """The settings of a server cannot work, whatever the server does; it stays within this package."""


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


async def resolve_address(
    server: McpServerSettings, *, settings: Settings, environment: Mapping[str, str], folder: Path
) -> ServerAddress:
    """Return how a server is reached, with its secrets.

    Raises ServerUnusable for a missing secret or package, and if a sandbox is demanded that there is not.
    """
    if not has_extra():
        raise ServerUnusable(MISSING_EXTRA)
    common = ServerAddress(
        call_seconds=server.timeout.total_seconds(),
        protocol="legacy" if server.protocol == "Legacy" else "auto",
        asks=settings.approval.questions,
    )
    if server.url is not None:
        return replace(common, url=server.url, headers=_resolve_all("Headers", server.headers, environment))
    own = _resolve_all("Env", server.env, environment)
    variables, command = build_command_environment(environment, settings), (server.command or "", *server.args)
    if server.sandbox != "Off":
        variables = build_sandbox_environment(variables)
        command = await confine(server, command, settings, folder)
    return replace(common, command=command, environment=variables | own, folder=folder)


def _resolve_all(key: str, secrets: Mapping[str, Secret], environment: Mapping[str, str]) -> dict[str, str]:
    found = {name: secret.resolve(environment) for name, secret in secrets.items()}
    missing = [
        f"{key}.{name}: {secrets[name].source_description} is missing or empty" for name in found if not found[name]
    ]
    if missing:
        raise ServerUnusable("; ".join(missing))
    return {name: value for name, value in found.items() if value is not None}
