"""Tools that skills bring: each call starts the skill's program, which reads JSON on stdin and writes JSON to stdout.

Protocol (Sophon's guide, skills): stdin `{"tool": name, "parameters": {...}}`; stdout `{"success": true, "result":
any}` or `{"success": false, "error": text}`. The program runs in the sandbox of `Guards.Sandbox`, in the files folder
of the turn, with the folder of the skill read-only.
"""

from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import orjson

from sophon.builtin_tools.programs import ProgramLimits, find_confinement_problem, run_program
from sophon.builtin_tools.shell import format_command_result
from sophon.context import Context
from sophon.errors import InvalidArguments, ToolError
from sophon.processes.private_program_copy import open_private_copy
from sophon.risk import Risk
from sophon.settings.types.json_type_checks import is_mapping
from sophon.skills.skill_package import SkillPackage
from sophon.skills.tool_manifest import ScriptTool, ToolManifest
from sophon.tools.argument_schema import ArgumentSchema
from sophon.tools.tool import Tool

PYTHON: Final = "python3"

GRACE_SECONDS: Final = 5.0
"""Time that a call may take longer than its program, for the start of the sandbox."""

MAX_ERRORS: Final = 5
"""Violations of a schema that an error names."""


def create_script_tools(skill: SkillPackage) -> list[Tool]:
    """Return the tools of a skill, named `skill.tool`, in the group of the skill's name."""
    if skill.manifest is None:
        return []
    return [
        build_script_tool(f"{skill.name}.{each.name}", skill.folder, skill.manifest, each, group=skill.name)
        for each in skill.manifest.tools
    ]


def build_script_tool(
    name: str,
    folder: Path,
    manifest: ToolManifest,
    script: ScriptTool,
    *,
    group: str,
    owner: str | None = None,
    confined: bool = False,
    program: bytes | None = None,
) -> Tool:
    """Return the tool that starts the program in a folder.

    `owner` is the only principal that may call it. `confined`: it runs in a sandbox also without `Guards.Sandbox`.
    `program` is the content that was judged: each call runs a copy of it, without the folder.
    """
    limits = ProgramLimits(
        seconds=manifest.seconds,
        memory_bytes=manifest.memory_bytes,
        network=manifest.network,
        confined=confined,
    )

    async def run(ctx: Context, parameters: dict[str, Any]) -> object:
        call = orjson.dumps({"tool": script.name, "parameters": parameters})
        async with AsyncExitStack() as copies:
            seen = folder
            if program is not None:
                seen = await copies.enter_async_context(open_private_copy(manifest.entry_point.name, program))
            entry_point = str(seen / (manifest.entry_point if program is None else manifest.entry_point.name))
            words = [PYTHON, entry_point] if manifest.runtime == "python" else [entry_point]
            finished = await run_program(ctx, words, stdin=call, limits=replace(limits, readable=(seen,)))
        if finished.stopped or finished.code != 0:
            raise ToolError(format_command_result(finished))
        return read_result(finished.stdout)

    return Tool(
        name,
        script.description,
        run,
        ArgumentSchema(
            lambda: (script.parameters, _create_check(name, script.parameters)),
            wants_context=True,
            names=frozenset(script.parameters.get("properties", {})),
        ),
        risk=Risk[script.risk.upper()],
        group=group,
        timeout_seconds=manifest.seconds + GRACE_SECONDS,
        external=True,
        sandboxed=True,
        tags=(group,),
        owner=owner,
        find_problem=find_confinement_problem if confined else None,
    )


def read_result(stdout: str) -> object:
    """Return the result that a program has written. Raises ToolError for its error, and for anything else."""
    try:
        answer: object = orjson.loads(stdout)
    except orjson.JSONDecodeError as error:
        raise ToolError(f"the program of the skill did not write JSON: {error}; it wrote: {stdout[:500]}") from None
    if is_mapping(answer):
        if answer.get("success") is True:
            return answer.get("result")
        if answer.get("success") is False:
            raise ToolError(str(answer.get("error") or "the program of the skill reports a failure without a reason"))
    raise ToolError(f'the program of the skill wrote no {{"success": true or false}}; it wrote: {stdout[:500]}')


def _create_check(name: str, schema: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    validator: Any = None

    def check(arguments: Mapping[str, Any]) -> dict[str, Any]:
        nonlocal validator
        if validator is None:
            from jsonschema.validators import validator_for  # lazy: at the first call of such a tool

            validator = validator_for(schema)(schema)
        errors = sorted(validator.iter_errors(dict(arguments)), key=lambda each: [str(part) for part in each.path])
        if errors:
            raise InvalidArguments(name, [_describe_violation(each) for each in errors[:MAX_ERRORS]])
        return {"parameters": dict(arguments)}

    return check


def _describe_violation(violation: Any) -> str:
    return f"{'.'.join(map(str, violation.path)) or 'arguments'}: {violation.message[:300]}"
