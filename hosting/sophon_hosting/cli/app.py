"""The commands of `sophon` by name; the module of a command is loaded when it is called, so that `--help` is fast."""

import difflib
import gc
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from sophon_hosting.cli.arguments import GlobalOptions, hoisted

PROGRAM = "sophon"

COMMANDS = {
    "serve": "Run the host: web page, API, Socket.IO and worker.",
    "chat": "Talk with the agent: one message, or line by line.",
    "chain": "Show a chain as a table.",
    "doctor": "Say what is wrong on this machine, and how to mend it.",
    "config": "Show, check and describe the settings.",
    "sessions": "List, show, rename, copy, export and delete conversations.",
    "tasks": "List, show and stop tasks.",
    "approvals": "List what waits for a person, and decide it.",
    "pairing": "List who wants to write from a channel, and let them in.",
    "queue": "Look at the queue of a host, and switch it.",
    "trace": "Show what a task did, when, and what it cost.",
    "usage": "Show tokens and costs.",
    "worker": "Carry out tasks without page, API and Socket.IO.",
    "init": "Write an appsettings.json to begin with.",
}
"""Each is a module beside this one, with a typer application named `app`."""


SettingsFile = Annotated[Path | None, typer.Option(metavar="FILE", help="Use this file in place of appsettings.json.")]
Pairs = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="SECTION.KEY=VALUE", help="Change one setting; may be repeated, a later one wins."),
]


class LazyGroup(TyperGroup):
    """A group whose commands are modules. The types of typer's contexts are its private matter, hence Any."""

    def list_commands(self, ctx: Any) -> list[str]:
        """In the order in which a newcomer needs them."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Load a command; one that does not exist is a mistake, told with the near names."""
        if cmd_name not in COMMANDS:
            near = difflib.get_close_matches(cmd_name, COMMANDS, n=2)
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            ctx.fail(f"there is no command {cmd_name!r}{hint}")
        # What an import makes stays: without the collector looking for rubbish meanwhile it takes a tenth less time.
        gc.disable()
        try:
            return get_command(import_module(f"sophon_hosting.cli.{cmd_name}").app)
        finally:
            gc.enable()

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Without loading any."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


app = typer.Typer(cls=LazyGroup, rich_markup_mode=None, add_completion=False)


@app.callback(invoke_without_command=True)
def program(
    ctx: typer.Context,
    settings: SettingsFile = None,
    pairs: Pairs = None,
    debug: Annotated[bool, typer.Option(help="Show logs and tracebacks.")] = False,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    """Sophon: a chat with an agent, and the tools around it. Without a command it opens the chat."""
    options = GlobalOptions(settings, tuple(pairs or ()), debug)
    ctx.obj = options
    if version:
        typer.echo(f"{PROGRAM} {import_module('sophon._version').__version__}")
    elif ctx.invoked_subcommand is None and sys.stdin is not None and sys.stdin.isatty():
        raise typer.Exit(import_module("sophon_hosting.cli.chat").start(options))
    elif ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


def run(arguments: Sequence[str]) -> int:
    """Run one command and give its exit code; whatever goes wrong is told in a line on standard error."""
    # Bytes that are no UTF-8 arrive as halves of surrogate pairs, which neither a store nor a model can carry.
    words = hoisted([word.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for word in arguments])
    try:
        code = get_command(app).main(args=words, prog_name=PROGRAM, standalone_mode=False)
    except Exception as error:  # noqa: BLE001 - the outermost layer, which tells it and ends the process
        return int(import_module("sophon_hosting.cli.errors").report(error, debug="--debug" in words))
    return code if isinstance(code, int) else 0
