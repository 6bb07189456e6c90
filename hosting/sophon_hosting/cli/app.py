"""Typer application of `sophon`: global options and lazily imported commands, so that `--help` is fast."""

import difflib
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup
from typer.main import get_command

from sophon_hosting.cli.global_options import GlobalOptions, hoist_global_options, to_text

PROGRAM = "sophon"


COMMANDS: Final[Mapping[str, str]] = {
    "serve": "Run the host: web page, API, Socket.IO and worker.",
    "chat": "Chat with the agent: one message, or interactively.",
    "help": "Show the help of a command, as --help does.",
    "models": "List the models of the settings, with prices and capabilities.",
    "chain": "Show a chain as a table, with the guards.",
    "policy": "Show what is allowed, and try a tool call against the security rules.",
    "channels": "Add Telegram or WhatsApp, each secret tried with the platform; start a detached channel again.",
    "tools": "List the tools, and which of them a person may use.",
    "doctor": "Diagnose this machine and the settings, with a fix for each problem.",
    "config": "Show, validate and describe the settings.",
    "sessions": "List, search, show, rename, copy, import, export and delete sessions.",
    "tasks": "List, show and cancel tasks.",
    "approvals": "List pending approvals and decide them.",
    "goals": "List, show, create and delete goals; pause, resume and cancel them.",
    "grants": "List, show and revoke approvals in advance.",
    "schedules": "List, show, add, pause, resume and remove schedules.",
    "pairing": "List pairing requests from channels, approve and revoke them.",
    "tokens": "Create, list and revoke API tokens.",
    "queue": "Show the queue of a host, retry dead letters, pause, resume and drain it.",
    "providers": "List the providers of a host and their cool-downs, and reset one.",
    "routing": "Explain which model a message gets, show what was observed, forget it.",
    "decide": "Explain what rules decide about a message before a model is asked.",
    "trace": "Show how turns went, with times and cost; replay one with another model or chain.",
    "status": "Show what messages are routed by, the cost of each tier, and the limits.",
    "usage": "Show token usage and cost.",
    "audit": "List, verify and export the audit log of tool calls.",
    "trajectories": "List, show and export what is kept of finished turns.",
    "memory": "List, search, correct, forget, export and import what is remembered of a person.",
    "preferences": "Show and change how a person wants to be answered.",
    "persons": "Export, import and forget everything that is kept of a person.",
    "agents": "List, show and check agents; list and cancel sub-agents that work.",
    "skills": "List, show, check, install and switch skills.",
    "mcp": "Offer the host to MCP clients; add, list, restart and remove MCP servers.",
    "webhooks": "List the webhooks of a host with their waiting events, and try one.",
    "snapshots": "List, compare, restore and verify the copies of files before tool calls.",
    "store": "Check the store, delete old data, compact it.",
    "worker": "Run tasks without web page, API and Socket.IO.",
    "migrate": "Show whether the schema of the store is up to date, and migrate it.",
    "init": "Write an initial appsettings.json and the workspace files.",
}
"""Help text of each command, in the order in which a new user needs them."""

MODULES: Final[Mapping[str, str]] = {
    "serve": "programs.serve",
    "chat": "programs.chat.command",
    "help": "programs.help",
    "models": "features.providers.model_commands",
    "chain": "programs.chain",
    "policy": "features.guards.policy_commands",
    "channels": "features.channels.commands",
    "tools": "features.tools.commands",
    "doctor": "programs.doctor.command",
    "config": "programs.config",
    "sessions": "features.sessions.commands",
    "tasks": "features.tasks.commands",
    "approvals": "features.approvals.commands",
    "goals": "features.goals.commands",
    "grants": "features.approvals.grant_commands",
    "schedules": "features.schedules.commands",
    "pairing": "features.channels.pairing_commands",
    "tokens": "features.tokens.commands",
    "queue": "features.queue.commands",
    "providers": "features.providers.commands",
    "routing": "features.learning.routing_commands",
    "decide": "programs.decide",
    "trace": "features.tasks.trace_commands",
    "status": "features.learning.status_commands",
    "usage": "features.usage.commands",
    "audit": "features.guards.audit_commands",
    "trajectories": "features.learning.trajectory_commands",
    "memory": "features.memory.commands",
    "preferences": "features.preferences.commands",
    "persons": "features.persons.commands",
    "agents": "features.agents.commands",
    "skills": "features.skills.commands",
    "mcp": "features.mcp.commands",
    "webhooks": "features.webhooks.commands",
    "snapshots": "features.snapshots.commands",
    "store": "programs.store",
    "worker": "programs.worker",
    "migrate": "programs.migrate",
    "init": "programs.init",
}
"""Module of this package that holds the typer application of a command, named `app`. A path, not an import: nothing is
loaded before it is called, and the features stand above the command line.
"""

HOST_COMMANDS = ("serve", "worker")

SettingsFileOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Read this file instead of appsettings.json; paths in it are relative to its folder."
    ),
]
SettingOverridesOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="SECTION.KEY=VALUE", help="Override one setting; repeatable, the last one wins."),
]


class LazyCommandGroup(TyperGroup):
    """Command group that imports the module of a command when the command is called.

    typer does not export the types of its contexts, hence `Any`.
    """

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the command names, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import a command. Fail with a usage error that suggests similar names if it does not exist."""
        if cmd_name not in COMMANDS:
            near = difflib.get_close_matches(cmd_name, COMMANDS, n=2)
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            ctx.fail(f"there is no command {cmd_name!r}{hint}")
        return get_command(import_command(cmd_name).app)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands without importing any of them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def import_command(name: str) -> Any:
    """Import the module of a command."""
    return import_module(f"sophon_hosting.{MODULES[name]}")


app = typer.Typer(cls=LazyCommandGroup, rich_markup_mode=None, add_completion=False)


@app.callback(invoke_without_command=True)
def root_command(
    ctx: typer.Context,
    settings: SettingsFileOption = None,
    overrides: SettingOverridesOption = None,
    debug: Annotated[bool, typer.Option(help="Show logs and tracebacks.")] = False,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    """Sophon: chat with an agent, run it as a host, and inspect it. Without a command it opens the chat."""
    options = GlobalOptions(settings, tuple(overrides or ()), debug)
    ctx.obj = options
    if version:
        from sophon._version import __version__  # lazy: importing `sophon` is slow

        typer.echo(f"{PROGRAM} {__version__}")
    elif ctx.invoked_subcommand is None and sys.stdin is not None and sys.stdin.isatty():
        raise typer.Exit(import_command("chat").run_chat(options))
    elif ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


def _check_output(words: Sequence[str]) -> None:
    """Raise InputError if a command has written to a closed output. What a host writes there are notices."""
    if getattr(sys.stdout, "is_lost", False) and next(filter(COMMANDS.__contains__, words), "") not in HOST_COMMANDS:
        from sophon.errors import InputError  # lazy: `--help` must not import `sophon`

        raise InputError("the output cannot be written: standard output is closed")


def run_command_line(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code; write every error as one line to standard error."""
    words = hoist_global_options(to_text(arguments))
    try:
        code = get_command(app).main(args=words, prog_name=PROGRAM, standalone_mode=False)
        sys.stdout.flush()  # what cannot be written is an error of the command, not of the interpreter's last flush
        _check_output(words)
    except Exception as error:  # noqa: BLE001 - the outermost layer: it reports the error and ends the process
        from sophon_hosting.cli.error_reporting import report_error  # lazy: `--help` must not import `sophon`

        return report_error(error, debug="--debug" in words)
    return code if isinstance(code, int) else 0
