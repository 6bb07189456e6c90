"""Skill package: a folder with SKILL.md, YAML front matter in front of instructions, and optionally a tool manifest.

The format is that of Agent Skills (`name`, `description`, `license`, `compatibility`, `metadata`, `allowed-tools`);
`requires` and `priority` are ours and may stand in `metadata` too. Tools are described in `manifest.json` or
`manifest.yaml`, see `sophon.skills.tool_manifest`; a folder with a manifest alone is a skill without instructions.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeAlias

from sophon._python.front_matter import (
    FileProblem,
    FrontMatterFields,
    find_name_problem,
    is_mapping,
    parse_front_matter,
    read_text_file,
)
from sophon._python.lazy_dataclass import dataclass
from sophon.skills.tool_manifest import MANIFEST_NAMES, ManifestError, ToolManifest, parse_manifest

SKILL_FILE: Final = "SKILL.md"

MAX_DESCRIPTION_CHARACTERS: Final = 1024
MAX_COMPATIBILITY_CHARACTERS: Final = 500
MAX_PRIORITY: Final = 1000
MAX_HINT_CHARACTERS: Final = 80

DESCRIPTION_PURPOSE: Final = "it tells the model when to use the skill"
_KEYS: Final = frozenset(
    {
        "name",
        "description",
        "license",
        "compatibility",
        "metadata",
        "allowed-tools",
        "requires",
        "priority",
        "user-invocable",
        "argument-hint",
    }
)


SkillProblem: TypeAlias = FileProblem
"""A problem of a skill: the file, the line from 1 (0: the file as a whole), and a sentence."""


@dataclass(frozen=True, slots=True)
class SkillPackage:
    """A valid skill.

    `instructions` is the text below the front matter. `requires` are names of other skills that are loaded with it,
    `priority` is its weight when not all skills fit into the prompt. `allowed_tools` are the tools to which a turn is
    restricted once the skill is loaded, None for no restriction. `manifest` describes the tools that it brings. A
    person may call one that `is_callable` with `/name`; `argument_hint` says what may follow.
    """

    name: str
    description: str
    folder: Path
    instructions: str
    requires: tuple[str, ...] = ()
    priority: float = 1.0
    allowed_tools: tuple[str, ...] | None = None
    license: str = ""
    manifest: ToolManifest | None = None
    is_callable: bool = False
    argument_hint: str = ""


def read_skill_package(folder: Path) -> tuple[SkillPackage | None, list[SkillProblem]]:
    """Read the skill in a folder: (skill, []) or (None, all of its problems). Blocks; raises nothing."""
    problems: list[SkillProblem] = []
    manifest = _read_manifest(folder, problems)
    path = folder / SKILL_FILE
    if not path.is_file():
        if manifest is None:
            return None, problems or [SkillProblem(folder, 0, f"it has neither {SKILL_FILE} nor a manifest")]
        problems += [SkillProblem(folder, 0, each) for each in _check_name(manifest.name, folder)]
        plain = SkillPackage(manifest.name, manifest.description, folder, "", license=manifest.license)
        return (None, problems) if problems else (_with_manifest(plain, manifest), [])
    text = read_text_file(path, problems)
    skill = _parse_skill(text, path, problems) if text is not None else None
    if skill is not None and manifest is not None and manifest.name != skill.name:
        message = f"its name is {manifest.name!r}, that of the skill {skill.name!r}"
        problems.append(SkillProblem(manifest.path, 0, message))
    return (None, problems) if problems or skill is None else (_with_manifest(skill, manifest), [])


def _with_manifest(skill: SkillPackage, manifest: ToolManifest | None) -> SkillPackage:
    return skill if manifest is None else replace(skill, manifest=manifest)


def _read_manifest(folder: Path, problems: list[SkillProblem]) -> ToolManifest | None:
    found = [folder / name for name in MANIFEST_NAMES if (folder / name).is_file()]
    if len(found) > 1:
        problems.append(SkillProblem(folder, 0, f"it has both {found[0].name} and {found[1].name}"))
    if len(found) != 1:
        return None
    text = read_text_file(found[0], problems)
    if text is None:
        return None
    try:
        return parse_manifest(text, found[0])
    except ManifestError as error:
        problems += [SkillProblem(found[0], line, message) for line, message in error.problems]
        return None


def _parse_skill(text: str, path: Path, problems: list[SkillProblem]) -> SkillPackage | None:
    """Return the skill of a SKILL.md, or None after noting its problems."""
    front = parse_front_matter(text, path, problems)
    if front is None:
        return None
    content, lines, instructions = front
    fields = _Fields(content, lines, path)
    skill = SkillPackage(
        name=fields.read_name(),
        description=" ".join(fields.read_description().split()),
        folder=path.parent,
        instructions=instructions.strip(),
        requires=fields.read_names("requires") or (),
        priority=fields.read_priority(),
        allowed_tools=fields.read_names("allowed-tools"),
        license=fields.read_text("license", MAX_DESCRIPTION_CHARACTERS),
        is_callable=fields.read_callable(),
        argument_hint=" ".join(fields.read_text("argument-hint", MAX_HINT_CHARACTERS).split()),
    )
    fields.read_text("compatibility", MAX_COMPATIBILITY_CHARACTERS)
    problems += fields.problems
    return None if fields.problems else skill


class _Fields(FrontMatterFields):
    """The keys of a skill's front matter, some of which may stand in `metadata` too."""

    def __init__(self, content: Mapping[object, Any], lines: Mapping[str, int], path: Path) -> None:
        super().__init__(content, lines, path, _KEYS)
        metadata = content.get("metadata", {})
        self._metadata: Mapping[object, Any] = metadata if is_mapping(metadata) else {}
        if not is_mapping(metadata):
            self.note("metadata", "metadata must be a mapping")

    def find(self, key: str) -> object:
        return self.content.get(key, self._metadata.get(key))

    def read_name(self) -> str:
        name = self.content.get("name")
        if not isinstance(name, str):
            self.note("name", "a name is missing" if name is None else "the name must be text; put it in quotes")
            return ""
        for problem in _check_name(name, self.path.parent):
            self.note("name", problem)
        return name

    def read_description(self) -> str:
        return self.read_text("description", MAX_DESCRIPTION_CHARACTERS, required_because=DESCRIPTION_PURPOSE)

    def read_callable(self) -> bool:
        value = self.find("user-invocable")
        if value is not None and not isinstance(value, bool):
            self.note("user-invocable", "user-invocable must be true or false")
        return value is True

    def read_priority(self) -> float:
        priority = self.read_number("priority", 0, MAX_PRIORITY)
        return 1.0 if priority is None else priority


def _check_name(name: str, folder: Path) -> Iterator[str]:
    if (problem := find_name_problem(name)) is not None:
        yield problem
    elif name != folder.name:
        yield f"the name {name!r} must be that of its folder, {folder.name!r}"
