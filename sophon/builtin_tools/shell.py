"""Built-in tool `system.execute`: shell commands in the files folder, always with approval."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sophon.context import Context
from sophon.errors import ToolError
from sophon.settings.sections.guards import SandboxSettings
from sophon.tools.tool import Risk, tool

if TYPE_CHECKING:
    from sophon.processes.command_result import CommandResult

UNCONFINED_NOTE = "a command has the rights of the host: it can read its settings, data and secret files."


def write_command_note(ctx: Context, arguments: Mapping[str, Any]) -> str:
    """Return what a command can reach, for the person who approves it."""
    from sophon.processes.sandbox_probe import find_probed  # lazy: few turns run programs

    settings = ctx.settings.guards.sandbox
    sandbox = find_probed(settings.program) if settings.enabled else None
    return UNCONFINED_NOTE if sandbox is None or sandbox.problem else describe_sandbox(settings)


def describe_sandbox(settings: SandboxSettings) -> str:
    """Return what a command in the sandbox can reach."""
    network = "with the network of the host" if settings.network else "without network"
    writable = ", ".join(("the files folder", *map(str, settings.writable)))
    readable = ", ".join(("the system", *map(str, settings.readable)))
    return f"the command runs in a sandbox, {network}: it reads {readable}, and changes only {writable}."


@tool(
    deferred=True,
    name="system.execute",
    risk=Risk.CRITICAL,
    group="system",
    serial=True,
    external=True,
    timeout_seconds=60,
    approval_note=write_command_note,
    sandboxed=True,
    tags=("command", "shell", "run", "terminal", "execute", "bash", "script", "system", "process"),
)
async def system_execute(ctx: Context, command: str) -> str:
    """Run a shell command in the files folder; it is killed after 60 seconds, with all processes that it started.

    Args:
        command: The command for /bin/sh. It gets no input, and few variables of the environment.
    """
    from sophon.builtin_tools.programs import run_program
    from sophon.processes.command_runner import SHELL

    result = await run_program(ctx, [SHELL, "-c", command])
    if result.stopped:
        raise ToolError(format_command_result(result))
    return format_command_result(result)


def format_command_result(finished: "CommandResult") -> str:
    """Format a result; the exit code comes first, so that truncation keeps it."""
    status = f"exit code {finished.code}" if finished.code >= 0 else f"ended by signal {-finished.code}"
    parts = [f"the sandbox has stopped the command: {finished.stopped}" if finished.stopped else status]
    for name, text in (("stdout", finished.stdout), ("stderr", finished.stderr)):
        if text:
            parts.append(f"--- {name}\n{text.rstrip()}")
    return "\n".join(parts)
