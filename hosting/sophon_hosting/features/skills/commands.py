"""`sophon skills`: list, show, check, install and switch skills. A host may run; changes hold from the next turn."""

from pathlib import Path
from typing import Annotated, Any

import typer

from sophon.composition.part_factories import list_skill_folders
from sophon.errors import InputError, NotFound
from sophon.skills.catalog import SkillCatalog, SkillSet
from sophon.skills.skill_package import SkillPackage, SkillProblem
from sophon_hosting.cli.bootstrap import load_cli_settings
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

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Name of a skill.")]

app = command_group("List, show, check, install and switch the skills: folders with instructions and tools for tasks.")


@app.command("list")
def list_skills(ctx: typer.Context, as_json: JsonOption = False) -> None:
    """List the skills, and the problems of those that cannot be used."""
    found = _open(ctx.obj).read()
    if as_json:
        items = [_to_json(skill, found) for skill in found.skills.values()]
        write_json({"items": items, "problems": [str(each) for each in found.problems]})
        return
    if found.skills:
        rows = [(name, _state(name, found), skill.description) for name, skill in found.skills.items()]
        write_table(("skill", "state", "what it is for"), rows)
    else:
        write_lines(["There are no skills."])
    for problem in found.problems:
        write_notice(str(problem))


@app.command()
def show(ctx: typer.Context, name: NameArgument, as_json: JsonOption = False) -> None:
    """Show a skill: where it is, what it requires, its tools and its instructions."""
    found = _open(ctx.obj).read()
    skill = _find(found, name)
    if as_json:
        write_json({**_to_json(skill, found), "instructions": skill.instructions})
        return
    tools = [each.name for each in skill.manifest.tools] if skill.manifest is not None else []
    facts = {
        "skill": skill.name,
        "for": skill.description,
        "state": _state(name, found),
        "folder": str(skill.folder),
        "license": skill.license,
        "requires": ", ".join(skill.requires),
        "tools": ", ".join(f"{skill.name}.{each}" for each in tools),
        "allows only": ", ".join(skill.allowed_tools or ()),
    }
    write_lines([*fact_lines(facts), *(["", skill.instructions] if skill.instructions else [])])


@app.command()
def check(
    ctx: typer.Context,
    path: Annotated[
        Path | None, typer.Argument(metavar="[PATH]", help="Folder of a skill; all of them without it.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Check one skill, installed or not, or all: name each problem with file and line, and exit 1 if there is one."""
    catalog = _open(ctx.obj)
    problems = catalog.read().problems if path is None else catalog.check(path)
    rows = {"problems": [_problem_to_json(each) for each in problems]}
    write_result(rows, [*map(str, problems)] or ["No problem was found."], as_json=as_json)
    if problems:
        raise typer.Exit(1)


@app.command()
def install(
    ctx: typer.Context,
    path: Annotated[Path, typer.Argument(metavar="PATH", help="Folder of the skill.")],
    replace: Annotated[bool, typer.Option("--replace", help="Replace a skill of that name.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Copy a skill into the first of Skills.Directories. Read it before: its instructions steer the model."""
    catalog = _open(ctx.obj)
    is_first = not any(each.is_dir() for each in catalog.folders)
    skill = catalog.install(path, replace=replace)
    write_result(_to_json(skill, catalog.read()), [f"{skill.name} is installed: {skill.folder}"], as_json=as_json)
    if is_first:
        write_notice("a host that runs finds its first skill after a restart")


@app.command()
def enable(ctx: typer.Context, name: NameArgument, as_json: JsonOption = False) -> None:
    """Switch a skill on."""
    _switch(ctx.obj, name, as_json=as_json, enabled=True)


@app.command()
def disable(ctx: typer.Context, name: NameArgument, as_json: JsonOption = False) -> None:
    """Switch a skill off; it stays installed."""
    _switch(ctx.obj, name, as_json=as_json, enabled=False)


def _switch(options: GlobalOptions, name: str, *, as_json: bool, enabled: bool) -> None:
    catalog = _open(options)
    catalog.set_enabled(name, enabled)
    if as_json:
        found = catalog.read()
        write_json(_to_json(found.skills[name], found))
    else:
        write_lines([f"{name} is {'on' if enabled else 'off'} from the next turn."])


def _open(options: GlobalOptions) -> SkillCatalog:
    settings = load_cli_settings(options)
    if not settings.skills.directories:
        raise InputError("Skills.Directories is empty: there is no folder for skills")
    return SkillCatalog(list_skill_folders(settings, options.settings_folder))


def _find(found: SkillSet, name: str) -> SkillPackage:
    if name not in found.skills:
        raise NotFound("skill", name, [*found.skills][:5])
    return found.skills[name]


def _state(name: str, found: SkillSet) -> str:
    return "off" if name in found.disabled else "on"


def _problem_to_json(problem: SkillProblem) -> dict[str, Any]:
    return {"path": str(problem.path), "line": problem.line, "message": problem.message}


def _to_json(skill: SkillPackage, found: SkillSet) -> dict[str, Any]:
    return {
        "name": skill.name,
        "description": skill.description,
        "enabled": skill.name not in found.disabled,
        "folder": str(skill.folder),
        "license": skill.license,
        "requires": [*skill.requires],
        "priority": skill.priority,
        "allowed_tools": None if skill.allowed_tools is None else [*skill.allowed_tools],
        "tools": [each.name for each in skill.manifest.tools] if skill.manifest is not None else [],
    }
