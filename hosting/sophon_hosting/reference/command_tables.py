"""Tables of docs/cli.md: each command with its verbs, arguments and options, as `--help` prints them."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import typer
from typer.main import get_command

from sophon_hosting.cli.app import PROGRAM, app, import_command, load_commands
from sophon_hosting.reference.markdown_tables import render_table

OPTIONS_OF_MANY: Final[Mapping[str, str]] = {
    "url": "A running host; the configured one by default.",
    "as_json": "Write JSON.",
    "yes": "Do not ask for confirmation.",
}
"""Sentences that the page explains once, above the tables, by parameter; with another sentence it is in its row."""

MAX_READABLE: Final = 10**9
"""A limit above it says nothing to a reader: it is that of whole numbers in JSON or in a database."""

_OPTION: Final = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
_NAME: Final = re.compile("[A-Z_]+")
_LIMITS: Final = re.compile(r"(\d+)<=x<=(\d+)")


def commands_table() -> str:
    """Return the table of the commands, each with a link to its section."""
    rows = [
        (f"[`{PROGRAM} {name}`](#{PROGRAM}-{name})", _one_line(each.help)) for name, each in load_commands().items()
    ]
    return render_table(("command", ""), rows)


def global_options_table() -> str:
    """Return the table of the options that all commands have."""
    root: Any = get_command(app)
    context = typer.Context(root)
    return render_table(("option", ""), [_option(each, context) for each in root.params])


def command_sections() -> str:
    """Return a section for each command: what it is for, the page about it, and a row for each of its verbs."""
    return "\n\n".join(map(_section, load_commands()))


def _section(name: str) -> str:
    command = get_command(import_command(name).app)
    usages = dict(_list_usages(name, command))
    about = [] if _runs_alone(command) else [_one_line(command.help)]
    page = load_commands()[name].page
    about += [f"See {page}."] if page else []
    explained: set[str] = set()
    rows = [(f"`{usage}`", "<br>".join(_explain(each, explained))) for usage, each in usages.items()]
    parts = (f"### {PROGRAM} {name}", " ".join(about), render_table(("usage", ""), rows))
    return "\n\n".join(filter(None, parts))


def _list_usages(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    """Yield each command that runs with its arguments. typer does not export the types of its commands."""
    if _runs_alone(command):
        yield " ".join([path, *(_argument(each) for each in command.params if not _is_option(each))]), command
    for verb, each in _verbs(command).items():
        yield from _list_usages(f"{path} {verb}", each)


def _explain(command: Any, explained: set[str]) -> list[str]:
    """Return the lines about a command; an argument is described where it is `explained` for the first time."""
    context = typer.Context(command)
    lines = [_one_line(command.help)]
    shared: list[str] = []
    for each in command.params:
        if not _is_option(each):
            line = f"`{_NAME.findall(each.metavar)[0]}`: {_one_line(each.help)}"
            lines += [] if line in explained else [line]
            explained.add(line)
            continue
        option, about = _option(each, context)
        if OPTIONS_OF_MANY.get(each.name) == each.help:
            shared.append(option)
        else:
            lines.append(f"{option}: {about}")
    return [*lines, f"Also {', '.join(shared)}."] if shared else lines


def _option(option: Any, context: Any) -> tuple[str, str]:
    """Return the names of an option with its value, and its sentence with limits and default."""
    names, about = option.get_help_record(context)
    return f"`{names.removeprefix(' / ')}`", _LIMITS.sub(_to_words, _one_line(about))


def _argument(argument: Any) -> str:
    """Return an argument as a usage line shows it: `TASK`, `[TASK]` if it may be left out, `TASK...` if repeated."""
    name: str = argument.metavar
    if name[0] == "[" or name.endswith("..."):
        return name
    name += "..." if argument.nargs == -1 else ""
    return name if argument.required else f"[{name}]"


def _to_words(limits: re.Match[str]) -> str:
    lowest, highest = limits.groups()
    return f"at least {lowest}" if int(highest) > MAX_READABLE else f"{lowest} to {highest}"


def _runs_alone(command: Any) -> bool:
    return not _verbs(command) or bool(command.invoke_without_command)


def _is_option(parameter: Any) -> bool:
    return bool(parameter.param_type_name == "option")


def _verbs(command: Any) -> Mapping[str, Any]:
    return getattr(command, "commands", {})


def _one_line(text: str | None) -> str:
    """Return a sentence for Markdown: options as code, else two hyphens become a dash."""
    parts = " ".join((text or "").split()).split("`")  # every second one is code already
    parts[::2] = (_OPTION.sub(r"`\g<0>`", each) for each in parts[::2])
    return "`".join(parts)
