"""Manifest of the tools that a skill brings: programs that read a JSON call on stdin and write a JSON result to stdout.

Source of the fields and limits: Sophon's guide, skills.
"""

from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from sophon._python.lazy_dataclass import dataclass
from sophon._python.strict_yaml import StrictYamlError, parse_yaml_with_lines
from sophon.extras import describe_missing_package

if TYPE_CHECKING:
    from sophon.skills.manifest_model import ManifestModel

MANIFEST_NAMES: Final = ("manifest.json", "manifest.yaml")
"""Names of a manifest; JSON is YAML as well."""

RUNTIMES: Final = ("python", "sandbox")
"""Runtimes that are known: `python` starts the entry point with python3, `sandbox` starts it as a program."""


class ManifestError(Exception):
    """A manifest that cannot be used. `problems` are pairs of a line, counted from 1 or 0, and a sentence."""

    def __init__(self, problems: list[tuple[int, str]]) -> None:
        self.problems = problems
        super().__init__("; ".join(message for _, message in problems))


@dataclass(frozen=True, slots=True)
class ScriptTool:
    """A tool of a skill: its name within the skill, and the JSON Schema of its parameters."""

    name: str
    description: str
    risk: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolManifest:
    """The tools of a skill, and the program that runs them.

    `entry_point` is a path in the skill's folder. `network` is whether the program may use the network,
    `seconds` and `memory_bytes` are its limits; the host's own limits hold as well.
    """

    path: Path
    name: str
    description: str
    license: str
    version: str
    runtime: str
    entry_point: PurePosixPath
    tools: tuple[ScriptTool, ...]
    network: bool
    seconds: float
    memory_bytes: int


def parse_manifest(text: str, path: Path) -> ToolManifest:
    """Return the manifest of a skill; `path` is where it was read. Raises ManifestError with all problems."""
    try:
        content, lines = parse_yaml_with_lines(text)
    except StrictYamlError as error:
        raise ManifestError([(error.line, str(error))]) from error
    from pydantic import ValidationError  # lazy: most hosts have no skill with tools

    from sophon.skills.manifest_model import ManifestModel

    try:
        manifest = ManifestModel.model_validate(content)
    except ValidationError as error:
        raise ManifestError([_to_problem(fault, lines) for fault in error.errors(include_url=False)]) from error
    problems = [*_find_problems(manifest, path.parent, lines)]
    if problems:
        raise ManifestError(problems)
    return ToolManifest(
        path=path,
        name=manifest.name,
        description=manifest.description,
        license=manifest.license,
        version=manifest.version,
        runtime=manifest.runtime,
        entry_point=PurePosixPath(manifest.entrypoint),
        tools=tuple(
            ScriptTool(each.name, each.description, each.risk_level, each.parameters) for each in manifest.tools
        ),
        network=manifest.sandbox.network,
        seconds=manifest.sandbox.timeout_seconds,
        memory_bytes=manifest.sandbox.max_memory_mb * 1024 * 1024,
    )


def _find_problems(manifest: "ManifestModel", folder: Path, lines: Mapping[str, int]) -> list[tuple[int, str]]:
    problems: list[tuple[int, str]] = []
    if manifest.runtime not in RUNTIMES:
        problems.append((lines.get("runtime", 0), f"the runtime {manifest.runtime!r} is not supported; use python"))
    entry_point = folder / manifest.entrypoint
    if not entry_point.resolve().is_relative_to(folder.resolve()) or not entry_point.is_file():
        problems.append((lines.get("entrypoint", 0), f"there is no file {manifest.entrypoint!r} in the folder"))
    names = [tool.name for tool in manifest.tools]
    problems += [
        (lines.get("tools", 0), f"two tools are called {name!r}")
        for name in dict.fromkeys(names)
        if names.count(name) > 1
    ]
    for tool in manifest.tools:
        if problem := find_schema_problem(tool.parameters):
            problems.append((lines.get("tools", 0), f"the parameters of {tool.name!r}: {problem}"))
    if any(credential.required for credential in manifest.credentials):
        problems.append(
            (lines.get("credentials", 0), "required credentials are not passed to programs; use http.request for them")
        )
    return problems


def find_schema_problem(schema: dict[str, Any]) -> str:
    """Return why a JSON Schema cannot describe the arguments of a tool; "" if it can."""
    try:
        from jsonschema.exceptions import SchemaError  # lazy: only skills with tools need it
        from jsonschema.validators import validator_for
    except ModuleNotFoundError as error:
        return f"it cannot be checked: {describe_missing_package(error) or error}"
    if schema.get("type") != "object":
        return "the schema must be of the type object"
    try:
        validator_for(schema).check_schema(schema)
    except SchemaError as error:
        return f"it is no JSON Schema: {error.message}"
    return ""


def _to_problem(fault: Mapping[str, Any], lines: Mapping[str, int]) -> tuple[int, str]:
    where = ".".join(str(part) for part in fault["loc"])
    message = str(fault["msg"]).removeprefix("Value error, ")
    sentence = f"{message[:1].lower()}{message[1:]}"
    return lines.get(str(fault["loc"][0]), 0) if fault["loc"] else 0, f"{where}: {sentence}" if where else sentence
