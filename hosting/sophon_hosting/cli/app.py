"""Typer application of `sophon`: global options and lazily imported commands, so that `--help` is fast."""

import difflib
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup
from typer.main import get_command

from sophon_hosting.cli.command import Command
from sophon_hosting.cli.global_options import GlobalOptions, hoist_global_options, to_text

PROGRAM = "sophon"


PACKAGES: Final = ("sophon_hosting.programs", "sophon_hosting.features")
"""Packages with commands, by name, because they stand above the command line: the second one lists its features."""

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


@cache
def load_commands() -> dict[str, Command]:
    """Return the commands of this package by name, in the order of their places; `module` is an absolute path."""
    programs, features = map(import_module, PACKAGES)
    packages = [programs, *(import_module(f"{features.__name__}.{name}") for name in features.FEATURES)]
    return _list_commands(packages)


@cache
def load_installed_commands() -> dict[str, Command]:
    """Return the commands of the packages of installed features.

    A package that cannot be imported has none: the host says what is wrong with it.
    """
    packages: list[ModuleType] = []
    for entry in entry_points(group=import_module(PACKAGES[1]).FEATURES_GROUP):
        with suppress(Exception):
            packages.append(import_module(entry.module.rpartition(".")[0] or entry.module))
    return _list_commands(packages)


def _list_commands(packages: Iterable[ModuleType]) -> dict[str, Command]:
    found = {
        name: command._replace(module=f"{package.__name__}.{command.module}")
        for package in packages
        for name, command in getattr(package, "COMMANDS", {}).items()
    }
    return dict(sorted(found.items(), key=lambda row: row[1].place))


class LazyCommandGroup(TyperGroup):
    """Command group that imports the module of a command when the command is called.

    typer does not export the types of its contexts, hence `Any`.
    """

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the command names, in the order of their places, and behind them those of other distributions."""
        return list(load_commands() | load_installed_commands())

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import a command. Fail with a usage error that suggests similar names if it does not exist."""
        if find_command(cmd_name) is None:
            near = difflib.get_close_matches(cmd_name, self.list_commands(ctx), n=2)
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            ctx.fail(f"there is no command {cmd_name!r}{hint}")
        return get_command(import_command(cmd_name).app)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands without importing any of them."""
        with formatter.section("Commands"):
            every = load_commands() | load_installed_commands()
            formatter.write_dl([(name, command.help) for name, command in every.items()])


def find_command(name: str) -> Command | None:
    """Return a command; None if there is none of that name. Other distributions cannot replace those of this one."""
    return load_commands().get(name) or load_installed_commands().get(name)


def import_command(name: str) -> Any:
    """Import the module of a command, which exists."""
    command = find_command(name)
    assert command is not None
    return import_module(command.module)


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
    if (
        getattr(sys.stdout, "is_lost", False)
        and next(filter(load_commands().__contains__, words), "") not in HOST_COMMANDS
    ):
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
