"""`sophon agents`: list, show and check the agents in files; list and cancel the sub-agents that work."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from sophon._python.front_matter import FileProblem
from sophon.agents.catalog import EMPTY, AgentCatalog, AgentSet
from sophon.agents.definition import AgentDefinition, read_agent
from sophon.agents.ineffective_entries import find_reference_problems
from sophon.composition.part_factories import find_agent_folder
from sophon.errors import InputError, NotFound
from sophon_hosting.cli.bootstrap import create_services, load_cli_settings
from sophon_hosting.cli.common_options import JsonOption, command_group
from sophon_hosting.cli.console.output import (
    fact_lines,
    write_json,
    write_lines,
    write_notice,
    write_result,
    write_table,
)
from sophon_hosting.cli.global_options import GlobalOptions
from sophon_hosting.cli.operation_commands import list_command, sentence_formatter, show_command
from sophon_hosting.features.agents import operations as agents
from sophon_hosting.features.agents.known_names import find_name_problems
from sophon_hosting.features.agents.results import agent_details_to_json, agent_to_json

NO_AGENTS = "there are no agents: set Agents.Directory to a folder with a file NAME.md for each"

app = command_group("List, show and check the agents in files; list and cancel the sub-agents that work.")


@app.command("list")
def list_agents(ctx: typer.Context, as_json: JsonOption = False) -> None:
    """List the agents, and the problems of files that cannot be used."""
    catalog = _find_catalog(ctx.obj)
    found = EMPTY if catalog is None else catalog.read()
    if as_json:
        items = [agent_to_json(each) for each in found.agents.values()]
        write_json({"items": items, "problems": [str(each) for each in found.problems]})
        return
    if found.agents:
        rows = [(each.name, _describe_tools(each), each.description) for each in found.agents.values()]
        write_table(("agent", "tools", "what it is for"), rows)
    else:
        write_lines([NO_AGENTS if catalog is None else "There are no agents."])
    for problem in found.problems:
        write_notice(str(problem))


@app.command()
def show(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of an agent.")],
    as_json: JsonOption = False,
) -> None:
    """Show an agent: what it may use, whose messages it answers, and its prompt."""
    found = _read(ctx.obj)
    agent = found.agents.get(name)
    if agent is None:
        broken = [str(each) for each in found.problems if each.path.stem == name]
        if broken:
            raise InputError("\n".join(broken))
        raise NotFound("agent", name, [*found.agents][:5])
    shown = {"file": str(agent.path), **agent_to_json(agent), "tools": _describe_tools(agent)}
    lines = {key.replace("_", " "): _to_text(value) for key, value in shown.items()}
    write_result(agent_details_to_json(agent), [*fact_lines(lines, width=17), "", agent.prompt], as_json=as_json)


@app.command()
def check(
    ctx: typer.Context,
    path: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="File of an agent; all without it.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Check one file, installed or not, or all: name each problem with file and line, and exit 1 if there is one.

    Of all, models, chains and tools that there are not are named too; a server's tools are known only to a host.
    """
    if path is not None and not path.is_file():
        raise InputError(f"there is no file {str(path)!r}")
    problems: Sequence[FileProblem]
    references: Sequence[str] = ()
    if path is None:
        settings, found = load_cli_settings(ctx.obj), _read(ctx.obj)
        problems = [*found.problems, *find_name_problems(create_services(ctx.obj, settings), found)]
        references = list(find_reference_problems(settings.agents, found, settings.tools.disabled))
    else:
        problems = read_agent(path)[1]
    lines = [*map(str, problems), *references]
    rows = [{"file": str(each.path), "line": each.line, "problem": each.message} for each in problems]
    rows += [{"file": "", "line": 0, "problem": each} for each in references]
    write_result(rows, lines or ["No problem was found."], as_json=as_json)
    if lines:
        raise typer.Exit(1)


list_command(
    app,
    agents.list_agents,
    {"id": "agent_id", "state": "state", "agent": "agent", "task": "task"},
    "No sub-agent works.",
    name="running",
    items="running",
    summary="List the sub-agents that work or wait for a person.",
)
show_command(
    app, agents.cancel_sub_agent, sentence_formatter("{agent_id}: {state}"), name="cancel", arguments=("agent_id",)
)


def _find_catalog(options: GlobalOptions) -> AgentCatalog | None:
    settings = load_cli_settings(options)
    if not settings.agents.enabled:
        return None
    return AgentCatalog(find_agent_folder(settings, options.settings_folder), has_worker=settings.agents.worker)


def _read(options: GlobalOptions) -> AgentSet:
    catalog = _find_catalog(options)
    if catalog is None:
        raise InputError(NO_AGENTS)
    return catalog.read()


def _describe_tools(agent: AgentDefinition) -> str:
    if agent.tools is None:
        return "all"
    return ", ".join(agent.tools) or "none"


def _to_text(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] - of names
    return "" if value is None else str(value)
