"""Built-in tool `system.execute`: shell commands in the files folder, always with approval."""

import os

from sophon.builtin_tools.command_environment import build_command_environment
from sophon.builtin_tools.files import resolve_files_root
from sophon.builtin_tools.subprocess_runner import CommandResult, run_command
from sophon.context import Context
from sophon.tools.tool import Risk, tool


@tool(
    name="system.execute",
    risk=Risk.CRITICAL,
    group="system",
    serial=True,
    external=True,
    timeout_seconds=60,
    approval_note="a command has the rights of the host: it can read its settings, data and secret files.",
    tags=("command", "shell", "run", "terminal", "execute", "bash", "script", "system", "process"),
)
async def system_execute(ctx: Context, command: str) -> str:
    """Run a shell command in the files folder; it is killed after 60 seconds, with all processes that it started.

    Args:
        command: The command for /bin/sh. It gets no input, and few variables of the environment.
    """
    environment = build_command_environment(os.environ, ctx.settings)
    return format_command_result(await run_command(command, resolve_files_root(ctx), environment))


def format_command_result(finished: CommandResult) -> str:
    """Format a result; the exit code comes first, so that truncation keeps it."""
    status = f"exit code {finished.code}" if finished.code >= 0 else f"ended by signal {-finished.code}"
    parts = [status]
    for name, text in (("stdout", finished.stdout), ("stderr", finished.stderr)):
        if text:
            parts.append(f"--- {name}\n{text.rstrip()}")
    return "\n".join(parts)
