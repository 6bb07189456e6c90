"""Catalogue of the installed skills: found in folders, read anew when a file has changed, switched on and off."""

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from sophon._python.lazy_dataclass import dataclass
from sophon._python.private_files import make_private_folder, replacing_folder
from sophon.errors import InputError, NotFound
from sophon.settings.types.json_type_checks import is_list
from sophon.skills.skill_package import SKILL_FILE, SkillPackage, SkillProblem, read_skill_package
from sophon.skills.tool_manifest import MANIFEST_NAMES

STATE_FILE: Final = "disabled.json"
"""File in the first folder with the names of the skills that are switched off."""

MAX_SKILLS: Final = 1000
"""Skills that are read; further folders are named as a problem."""

MAX_INSTALLED_BYTES: Final = 50 * 1024 * 1024
"""Size of a skill that `install` copies."""

MAX_INSTALLED_FILES: Final = 2000

_DEFINING: Final = (SKILL_FILE, *MANIFEST_NAMES)


@dataclass(frozen=True, slots=True)
class SkillSet:
    """The skills of one moment by name, in alphabetical order, and the problems of those that cannot be used."""

    skills: Mapping[str, SkillPackage]
    problems: Sequence[SkillProblem]
    disabled: frozenset[str] = frozenset()

    @property
    def enabled(self) -> Mapping[str, SkillPackage]:
        """The skills that are switched on."""
        return {name: skill for name, skill in self.skills.items() if name not in self.disabled}


EMPTY: Final = SkillSet({}, ())


class SkillCatalog:
    """The skills in folders, of which the first is the managed one: there `install` puts them.

    A skill of an earlier folder hides one of the same name in a later one, which is named as a problem. All methods
    block; `read` costs two system calls per skill while nothing has changed. A catalogue may be shared by threads.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        self.folders = tuple(folders)
        self._fingerprint: object = None
        self._current = EMPTY

    @property
    def current(self) -> SkillSet:
        """What the last `read` has found."""
        return self._current

    def read(self) -> SkillSet:
        """Return the skills, read anew if a folder or a defining file has changed."""
        fingerprint = [*self._list_fingerprint()]
        if fingerprint != self._fingerprint:
            self._current = self._read_all()
            self._fingerprint = fingerprint
        return self._current

    def check(self, folder: Path) -> list[SkillProblem]:
        """Return the problems of the skill in a folder, installed or not."""
        if not folder.is_dir():
            return [SkillProblem(folder, 0, "there is no such folder")]
        return read_skill_package(folder.absolute())[1]

    def install(self, source: Path, *, replace: bool = False) -> SkillPackage:
        """Copy the skill in the folder `source` into the managed folder, and return it.

        Links, which could point out of the folder, are refused. Raises InputError with all problems, and if
        a skill of that name is installed and `replace` is not set.
        """
        if problems := self.check(source):
            raise InputError("\n".join(map(str, problems)))
        _check_size(source)
        skill, _ = read_skill_package(source.absolute())
        assert skill is not None
        target = self.folders[0] / skill.name
        if target.exists() and not replace:
            raise InputError(f"the skill {skill.name!r} is installed already; --replace replaces it")
        make_private_folder(self.folders[0])
        try:
            with replacing_folder(target) as arriving:
                shutil.copytree(source, arriving, symlinks=True)
        except OSError as error:
            raise InputError(f"the skill cannot be copied: {error.strerror or error}") from error
        installed, _ = read_skill_package(target)
        assert installed is not None
        return installed

    def set_enabled(self, name: str, enabled: bool) -> None:
        """Switch a skill on or off; it holds from the next turn. Raises NotFound, InputError."""
        current = self.read()
        if name not in current.skills:
            raise NotFound("skill", name, [*current.skills])
        disabled = current.disabled - {name} if enabled else current.disabled | {name}
        try:
            make_private_folder(self.folders[0])
            path = self.folders[0] / STATE_FILE
            new = path.with_name(f".{STATE_FILE}.new")
            new.write_text(json.dumps(sorted(disabled)), encoding="utf-8")
            new.replace(path)
        except OSError as error:
            raise InputError(f"{self.folders[0]} cannot be written: {error.strerror or error}") from error

    def _list_fingerprint(self) -> Iterator[object]:
        for folder in self.folders:
            yield _stamp(folder)
            yield _stamp(folder / STATE_FILE)
            for each in _list_folders(folder):
                yield each.name
                yield from (_stamp(each / name) for name in _DEFINING)

    def _read_all(self) -> SkillSet:
        found: dict[str, SkillPackage] = {}
        problems: list[SkillProblem] = []
        disabled = self._read_disabled(problems)
        count = 0
        for folder in self.folders:
            for each in _list_folders(folder):
                count += 1
                if count > MAX_SKILLS:
                    problems.append(SkillProblem(each, 0, f"it is not read: there are more than {MAX_SKILLS} skills"))
                    break
                skill, its_problems = read_skill_package(each)
                problems += its_problems
                if skill is not None and skill.name in found:
                    problems.append(SkillProblem(each, 0, f"{found[skill.name].folder} has the same name and is used"))
                elif skill is not None:
                    found[skill.name] = skill
        usable = find_usable(found)
        problems += [
            SkillProblem(skill.folder, 0, _describe_requirements(skill, found, usable))
            for name, skill in found.items()
            if name not in usable
        ]
        return SkillSet({name: found[name] for name in sorted(usable)}, tuple(problems), disabled)

    def _read_disabled(self, problems: list[SkillProblem]) -> frozenset[str]:
        path = self.folders[0] / STATE_FILE if self.folders else None
        if path is None or not path.is_file():
            return frozenset()
        try:
            names: object = json.loads(path.read_text(encoding="utf-8"))
            if is_list(names) and all(isinstance(each, str) for each in names):
                return frozenset(map(str, names))
            problems.append(SkillProblem(path, 0, "it must be a list of names; no skill is switched off"))
        except (OSError, ValueError) as error:
            problems.append(SkillProblem(path, 0, f"it cannot be read, no skill is switched off: {error}"))
        return frozenset()


def find_usable(skills: Mapping[str, SkillPackage]) -> set[str]:
    """Return the names of the skills whose requirements, direct or not, are all there and hold no circle."""
    usable: set[str] = set()
    missing = {name: {*skill.requires} for name, skill in skills.items()}
    needed_by: dict[str, list[str]] = {}
    for name, requires in missing.items():
        for each in requires:
            needed_by.setdefault(each, []).append(name)
    ready = [name for name, requires in missing.items() if not requires]
    while ready:
        name = ready.pop()
        usable.add(name)
        for each in needed_by.get(name, ()):
            missing[each].discard(name)
            if not missing[each]:
                ready.append(each)
    return usable


def find_circle(name: str, skills: Mapping[str, SkillPackage]) -> list[str]:
    """Return a circle of requirements that begins and ends with the skill; empty if there is none."""
    paths = [[name]]
    seen: set[str] = set()
    while paths:
        path = paths.pop()
        skill = skills.get(path[-1])
        for each in skill.requires if skill is not None else ():
            if each == name:
                return [*path, name]
            if each not in seen:
                seen.add(each)
                paths.append([*path, each])
    return []


def list_with_requirements(name: str, skills: Mapping[str, SkillPackage]) -> list[str]:
    """Return the names of a usable skill and of everything that it requires, requirements first."""
    order: list[str] = []
    stack = [(name, False)]
    while stack:
        each, is_done = stack.pop()
        if each in order:
            continue
        if is_done:
            order.append(each)
            continue
        stack.append((each, True))
        stack += [(required, False) for required in reversed(skills[each].requires)]
    return order


def _describe_requirements(skill: SkillPackage, found: Mapping[str, SkillPackage], usable: set[str]) -> str:
    for each in skill.requires:
        if each not in found:
            return f"it requires {each!r}, which is not installed"
    if circle := find_circle(skill.name, found):
        return f"what it requires is a circle: {' -> '.join(circle)}"
    lacking = next(each for each in skill.requires if each not in usable)
    return f"it requires {lacking!r}, which cannot be used"


def _list_folders(folder: Path) -> list[Path]:
    try:
        return sorted(each for each in folder.iterdir() if not each.name.startswith(".") and each.is_dir())
    except OSError:
        return []  # not there yet, or not readable; `sophon doctor` says so


def _stamp(path: Path) -> object:
    try:
        status = path.stat()
    except OSError:
        return None
    return (status.st_mtime_ns, status.st_size, status.st_ino)


def _check_size(source: Path) -> None:
    size = files = 0
    for folder, names, file_names in os.walk(source):
        for name in (*names, *file_names):
            path = Path(folder) / name
            if path.is_symlink():
                raise InputError(f"{path} is a link; a skill must hold its files itself")
            files += 1
            size += path.stat().st_size if path.is_file() else 0
            if size > MAX_INSTALLED_BYTES or files > MAX_INSTALLED_FILES:
                raise InputError(
                    f"the skill is too large: at most {MAX_INSTALLED_FILES} files and {MAX_INSTALLED_BYTES} bytes"
                )
