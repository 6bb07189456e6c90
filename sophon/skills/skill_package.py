"""Skill package: a folder with SKILL.md, YAML front matter in front of instructions, and optionally a tool manifest.

The format is that of Agent Skills (`name`, `description`, `license`, `compatibility`, `metadata`, `allowed-tools`);
`requires` and `priority` are ours and may stand in `metadata` too. Tools are described in `manifest.json` or
`manifest.yaml`, see `sophon.skills.tool_manifest`; a folder with a manifest alone is a skill without instructions.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeGuard

from sophon.lazy_dataclass import dataclass
from sophon.skills.tool_manifest import MANIFEST_NAMES, ManifestError, ToolManifest, parse_manifest
from sophon.strict_yaml import StrictYamlError, parse_yaml_with_lines

SKILL_FILE: Final = "SKILL.md"

MAX_FILE_BYTES: Final = 200_000
"""Maximum size of SKILL.md and of a manifest."""

MAX_NAME_CHARACTERS: Final = 64
MAX_DESCRIPTION_CHARACTERS: Final = 1024
MAX_COMPATIBILITY_CHARACTERS: Final = 500
MAX_PRIORITY: Final = 1000
MAX_NAMES: Final = 64
"""Names in a list of names."""

_NAME: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_FENCE: Final = re.compile(r"^---[ \t]*$", re.MULTILINE)
_KEYS: Final = frozenset(
    {"name", "description", "license", "compatibility", "metadata", "allowed-tools", "requires", "priority"}
)


@dataclass(frozen=True, slots=True)
class SkillProblem:
    """A problem of a skill: the file, the line from 1 (0: the file as a whole), and a sentence."""

    path: Path
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}" if self.line else f"{self.path}: {self.message}"


@dataclass(frozen=True, slots=True)
class SkillPackage:
    """A valid skill.

    `instructions` is the text below the front matter. `requires` are names of other skills that are loaded with it,
    `priority` is its weight when not all skills fit into the prompt. `allowed_tools` are the tools to which a turn is
    restricted once the skill is loaded, None for no restriction. `manifest` describes the tools that it brings.
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
    text = _read_text(path, problems)
    skill = _parse_skill(text, path, problems) if text is not None else None
    if skill is not None and manifest is not None and manifest.name != skill.name:
        message = f"its name is {manifest.name!r}, that of the skill {skill.name!r}"
        problems.append(SkillProblem(manifest.path, 0, message))
    return (None, problems) if problems or skill is None else (_with_manifest(skill, manifest), [])


def _with_manifest(skill: SkillPackage, manifest: ToolManifest | None) -> SkillPackage:
    return skill if manifest is None else replace(skill, manifest=manifest)


def _read_text(path: Path, problems: list[SkillProblem]) -> str | None:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
        if len(content) > MAX_FILE_BYTES:
            problems.append(SkillProblem(path, 0, f"it is larger than {MAX_FILE_BYTES} bytes"))
            return None
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        problems.append(SkillProblem(path, 0, "it is not UTF-8 text"))
    except OSError as error:
        problems.append(SkillProblem(path, 0, f"it cannot be read: {error.strerror or error}"))
    return None


def _read_manifest(folder: Path, problems: list[SkillProblem]) -> ToolManifest | None:
    found = [folder / name for name in MANIFEST_NAMES if (folder / name).is_file()]
    if len(found) > 1:
        problems.append(SkillProblem(folder, 0, f"it has both {found[0].name} and {found[1].name}"))
    if len(found) != 1:
        return None
    text = _read_text(found[0], problems)
    if text is None:
        return None
    try:
        return parse_manifest(text, found[0])
    except ManifestError as error:
        problems += [SkillProblem(found[0], line, message) for line, message in error.problems]
        return None


def _parse_skill(text: str, path: Path, problems: list[SkillProblem]) -> SkillPackage | None:
    """Return the skill of a SKILL.md, or None after noting its problems."""
    front = split_front_matter(text)
    if front is None:
        problems.append(SkillProblem(path, 1, "it does not begin with front matter between two lines `---`"))
        return None
    header, instructions = front
    try:
        content, lines = parse_yaml_with_lines(header)
    except StrictYamlError as error:
        problems.append(SkillProblem(path, error.line + 1, str(error)))  # one line further down: `---`
        return None
    if not _is_mapping(content):
        problems.append(SkillProblem(path, 2, "the front matter must be a mapping with name and description"))
        return None
    fields = _Fields(content, lines, path)
    skill = SkillPackage(
        name=fields.read_name(),
        description=" ".join(fields.read_text("description", MAX_DESCRIPTION_CHARACTERS, is_required=True).split()),
        folder=path.parent,
        instructions=instructions.strip(),
        requires=fields.read_names("requires") or (),
        priority=fields.read_priority(),
        allowed_tools=fields.read_names("allowed-tools"),
        license=fields.read_text("license", MAX_DESCRIPTION_CHARACTERS),
    )
    fields.read_text("compatibility", MAX_COMPATIBILITY_CHARACTERS)
    problems += fields.problems
    return None if fields.problems else skill


class _Fields:
    """The keys of a front matter. A value that is not as it must be becomes a problem, and a default."""

    def __init__(self, content: Mapping[object, Any], lines: Mapping[str, int], path: Path) -> None:
        self._content, self._lines, self._path = content, lines, path
        self.problems: list[SkillProblem] = []
        for key in content:
            if key not in _KEYS:
                self._note(str(key), f"the key {key!r} is unknown; known are {', '.join(sorted(_KEYS))}")
        metadata = content.get("metadata", {})
        self._metadata: Mapping[object, Any] = metadata if _is_mapping(metadata) else {}
        if not _is_mapping(metadata):
            self._note("metadata", "metadata must be a mapping")

    def read_name(self) -> str:
        name = self._content.get("name")
        if not isinstance(name, str):
            self._note("name", "a name is missing" if name is None else "the name must be text; put it in quotes")
            return ""
        for problem in _check_name(name, self._path.parent):
            self._note("name", problem)
        return name

    def read_text(self, key: str, limit: int, *, is_required: bool = False) -> str:
        value = self._content.get(key)
        if value is None or value == "":
            if is_required:
                self._note(key, f"a {key} is missing: it tells the model when to use the skill")
        elif not isinstance(value, str):
            self._note(key, f"{key} must be text; put it in quotes")
        elif len(value) > limit:
            self._note(key, f"{key} has {len(value)} characters; at most {limit} are allowed")
        else:
            return value.strip()
        return ""

    def read_names(self, key: str) -> tuple[str, ...] | None:
        """Return names given as a list, or as text between blanks or commas; None if there is no such key."""
        value = self._content.get(key, self._metadata.get(key))
        if value is None:
            return None
        names: object = re.split(r"[\s,]+", value.strip()) if isinstance(value, str) else value
        if not _is_text_list(names):
            self._note(key, f"{key} must be a list of names")
        elif len(names) > MAX_NAMES:
            self._note(key, f"{key} has {len(names)} names; at most {MAX_NAMES} are allowed")
        else:
            return tuple(dict.fromkeys(each for each in names if each))
        return ()

    def read_priority(self) -> float:
        value = self._content.get("priority", self._metadata.get("priority", 1.0))
        try:
            priority = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else -1.0
        except (ValueError, OverflowError):
            priority = -1.0
        if 0 <= priority <= MAX_PRIORITY:
            return priority
        self._note("priority", f"the priority {value!r} must be a number from 0 to {MAX_PRIORITY}")
        return 1.0

    def _note(self, key: str, message: str) -> None:
        self.problems.append(SkillProblem(self._path, self._lines.get(key, 0) + 1, message))


def split_front_matter(text: str) -> tuple[str, str] | None:
    """Split a text into its front matter, between two lines `---`, and the rest; None without front matter."""
    fences = list(_fences(text))
    if len(fences) < 2 or fences[0].start() != 0:
        return None
    return text[fences[0].end() + 1 : fences[1].start()], text[fences[1].end() + 1 :]


def _fences(text: str) -> Iterator[re.Match[str]]:
    for number, match in enumerate(_FENCE.finditer(text)):
        if number == 2:
            return
        yield match


def _check_name(name: str, folder: Path) -> Iterator[str]:
    if len(name) > MAX_NAME_CHARACTERS or _NAME.fullmatch(name) is None:
        yield (
            f"the name {name[:80]!r} must have 1 to {MAX_NAME_CHARACTERS} lower-case letters, digits and single hyphens"
        )
    elif name != folder.name:
        yield f"the name {name!r} must be that of its folder, {folder.name!r}"


def _is_mapping(value: object) -> TypeGuard[Mapping[object, Any]]:
    return isinstance(value, Mapping)


def _is_text_list(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)  # pyright: ignore[reportUnknownVariableType]
