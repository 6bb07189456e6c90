"""Custom tools: programs that users had made while the host ran, each in a folder with a manifest, owned by its user.

```text
data/custom-tools/NAME/
  manifest.json   the manifest of a skill with one tool
  main.py         the program
  state.json      owner, enabled, shared, when it was made, what the turn had read, digest of the other two files
```

A program that differs from the digest was not approved, and is not used. What runs are the bytes that were compared
with the digest, never the file as it is later.
"""

import hashlib
import logging
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from pathlib import Path
from typing import Any, Final

import orjson

from sophon._python.lazy_dataclass import dataclass
from sophon._python.private_files import REPLACED, make_private_folder, replacing_folder
from sophon.errors import InputError, NotFound
from sophon.invisible_characters import escape_invisible
from sophon.risk import Risk
from sophon.skills.skill_package import SkillProblem
from sophon.skills.tool_manifest import ManifestError, ScriptTool, ToolManifest, find_schema_problem, parse_manifest

log = logging.getLogger("sophon")

PREFIX: Final = "custom."
"""Beginning of the names of custom tools; no other tool can be meant by one."""

MANIFEST_FILE, PROGRAM_FILE, STATE_FILE = "manifest.json", "main.py", "state.json"

MAX_PROGRAM_BYTES: Final = 32_000
MAX_SCHEMA_BYTES: Final = 8000
MAX_DESCRIPTION_CHARACTERS: Final = 500
MAX_PER_USER: Final = 20
"""Custom tools of one user: each is read at the start of every turn."""
MAX_TOOLS: Final = 200
"""Custom tools of a host."""

SECONDS: Final = 30
MEMORY_MB: Final = 256

_NAME: Final = re.compile(r"[a-z][a-z0-9_-]{0,39}", re.ASCII)


@dataclass(frozen=True, slots=True)
class CustomToolDraft:
    """What a model proposes: the program is Python; `parameters` is a JSON Schema of the type object."""

    name: str
    description: str
    program: str
    parameters: Mapping[str, Any]
    risk: str = "high"


@dataclass(frozen=True, slots=True)
class CustomTool:
    """An installed custom tool. `sources` are the untrusted texts that its turn had read when it was made.

    `program` is the source as it was when `digest` was compared with it and the manifest.
    """

    name: str
    owner: str
    is_enabled: bool
    is_shared: bool
    created_at: str
    sources: tuple[str, ...]
    folder: Path
    manifest: ToolManifest
    program: bytes
    digest: str

    @property
    def script(self) -> ScriptTool:
        """The tool of the manifest."""
        return self.manifest.tools[0]

    @property
    def full_name(self) -> str:
        """The name by which it is called."""
        return f"{PREFIX}{self.name}"

    @property
    def source(self) -> str:
        """The program as text."""
        return self.program.decode()


@dataclass(frozen=True, slots=True)
class UnusableCustomTool:
    """A custom tool that is off for the reason `problem`; `owner` is "" if its state cannot be read."""

    name: str
    owner: str
    folder: Path
    problem: str

    @property
    def full_name(self) -> str:
        """The name by which it would be called."""
        return f"{PREFIX}{self.name}"


@dataclass(frozen=True, slots=True)
class CustomToolSet:
    """The custom tools of one moment by name, those that cannot be used, and the problems of these."""

    tools: Mapping[str, CustomTool]
    problems: Sequence[SkillProblem]
    unusable: Mapping[str, UnusableCustomTool] = field(default_factory=dict[str, UnusableCustomTool])


class CustomToolStore:
    """The custom tools in a folder; several processes may use it. All methods block.

    `read` costs two system calls per tool while nothing has changed.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._fingerprint: object = None
        self._current = CustomToolSet({}, ())

    def read(self) -> CustomToolSet:
        """Return the tools, read anew if one has changed."""
        fingerprint = [*self._list_fingerprint()]
        if fingerprint != self._fingerprint:
            before, self._current = self._current, self._read_all()
            self._fingerprint = fingerprint
            for name, each in self._current.unusable.items():
                if before.unusable.get(name) != each:
                    log.warning("the custom tool %s is off: %s", name, each.problem)
        return self._current

    def find(self, name: str, user: str | None) -> CustomTool:
        """Return a tool, with or without the prefix; None for an operator, who finds those of all.

        Raises NotFound, InputError for one that cannot be used.
        """
        tool = self.find_any(name, user)
        if isinstance(tool, UnusableCustomTool):
            raise InputError(f"{tool.full_name} is off: {tool.problem}; delete it, or replace it with tools.update")
        return tool

    def find_any(self, name: str, user: str | None) -> CustomTool | UnusableCustomTool:
        """Return a tool as `find` does, also one that cannot be used. Raises NotFound."""
        name, current = name.removeprefix(PREFIX), self.read()
        found: dict[str, CustomTool | UnusableCustomTool] = {**current.unusable, **current.tools}
        tool = found.get(name)
        if tool is None or (user is not None and tool.owner != user):
            raise NotFound(
                "custom tool", name, [each.name for each in found.values() if user in (None, each.owner)][:5]
            )
        return tool

    def create(self, draft: CustomToolDraft, *, owner: str, at: str, sources: Sequence[str] = ()) -> CustomTool:
        """Install a tool, switched on. Raises InputError with the first problem, also if the name is taken."""
        check_draft(draft)
        known = self.read().tools
        if (self.folder / draft.name).exists():
            raise InputError(
                f"the name {draft.name!r} is taken; choose another, or use tools.update for a tool of yours"
            )
        if sum(each.owner == owner for each in known.values()) >= MAX_PER_USER or len(known) >= MAX_TOOLS:
            raise InputError(f"there are {MAX_PER_USER} custom tools of this user, or {MAX_TOOLS} of all; delete one")
        state = {"owner": owner, "enabled": True, "shared": False, "created_at": at, "sources": [*sources]}
        return self._write(draft, state)

    def update(self, draft: CustomToolDraft, *, owner: str, at: str, sources: Sequence[str] = ()) -> CustomTool:
        """Replace a tool of the owner; one that was shared is shared no longer. Raises InputError, NotFound."""
        check_draft(draft)
        earlier = self.find_any(draft.name, owner)
        is_enabled = earlier.is_enabled if isinstance(earlier, CustomTool) else True
        state = {"owner": owner, "enabled": is_enabled, "shared": False, "created_at": at, "sources": [*sources]}
        return self._write(draft, state)

    def change(
        self, name: str, user: str | None, *, enabled: bool | None = None, shared: bool | None = None
    ) -> CustomTool:
        """Switch a tool on or off, or share it with all users. Raises NotFound, InputError."""
        tool = self.find(name, user)
        changed = replace(
            tool,
            is_enabled=tool.is_enabled if enabled is None else enabled,
            is_shared=tool.is_shared if shared is None else shared,
        )
        try:
            _write_state(tool.folder, _to_state(changed), tool.digest)
        except OSError as error:
            raise InputError(f"{tool.folder} cannot be written: {error.strerror or error}") from error
        return changed

    def delete(self, name: str, user: str | None) -> CustomTool | UnusableCustomTool:
        """Delete a tool with its program, also one that cannot be used. Raises NotFound, InputError."""
        tool = self.find_any(name, user)
        leaving = self.folder / f".{tool.name}.deleted"
        try:
            shutil.rmtree(leaving, ignore_errors=True)
            tool.folder.rename(leaving)
            shutil.rmtree(leaving)
        except OSError as error:
            raise InputError(f"{tool.folder} cannot be deleted: {error.strerror or error}") from error
        return tool

    def _write(self, draft: CustomToolDraft, state: Mapping[str, Any]) -> CustomTool:
        target = self.folder / draft.name
        try:
            make_private_folder(self.folder)
            with replacing_folder(target) as arriving:
                make_private_folder(arriving)
                manifest, program = _build_manifest(draft), draft.program.encode()
                (arriving / MANIFEST_FILE).write_bytes(manifest)
                (arriving / PROGRAM_FILE).write_bytes(program)
                _write_state(arriving, state, _digest(manifest, program))
        except OSError as error:
            raise InputError(f"{target} cannot be written: {error.strerror or error}") from error
        return _read_tool(target)

    def _list_fingerprint(self) -> Iterator[object]:
        for folder in _list_folders(self.folder):
            yield folder.name
            for name in (MANIFEST_FILE, PROGRAM_FILE, STATE_FILE):
                try:
                    status = (folder / name).stat()
                except OSError:
                    yield None
                else:
                    yield (status.st_mtime_ns, status.st_size, status.st_ino)

    def _read_all(self) -> CustomToolSet:
        tools: dict[str, CustomTool] = {}
        problems: list[SkillProblem] = []
        unusable: dict[str, UnusableCustomTool] = {}
        _restore_replaced(self.folder)
        for folder in _list_folders(self.folder)[:MAX_TOOLS]:
            try:
                tools[folder.name] = _read_tool(folder)
                continue
            except ManifestError as error:
                found = [SkillProblem(folder / MANIFEST_FILE, line, text) for line, text in error.problems]
            except (OSError, ValueError, InputError) as error:
                found = [SkillProblem(folder, 0, str(error))]
            problems += found
            told = "; ".join(each.message for each in found)
            unusable[folder.name] = UnusableCustomTool(folder.name, _read_owner(folder), folder, told)
        return CustomToolSet(tools, tuple(problems), unusable)


def check_draft(draft: CustomToolDraft) -> None:
    """Raise InputError with the first problem of a draft."""
    if _NAME.fullmatch(draft.name) is None:
        raise InputError(f"the name {draft.name[:80]!r} must be lower-case letters, digits, _ and -, at most 40")
    text = draft.description
    if not 1 <= len(text.strip()) <= MAX_DESCRIPTION_CHARACTERS:
        raise InputError(f"the description must have 1 to {MAX_DESCRIPTION_CHARACTERS} characters")
    try:
        schema = orjson.dumps(dict(draft.parameters)).decode()
        program = draft.program.encode()
    except (TypeError, UnicodeEncodeError) as error:
        raise InputError(f"the parameters or the program cannot be stored: {error}") from error
    # One plain line: it stands in every prompt beside the descriptions of other tools.
    if escape_invisible(text) != text or escape_invisible(schema) != schema or any(each in text for each in "\n\r<>"):
        raise InputError("the description must be one line without < and >, and no text may have invisible characters")
    if not 1 <= len(program) <= MAX_PROGRAM_BYTES or len(schema) > MAX_SCHEMA_BYTES:
        raise InputError(
            f"a program has 1 to {MAX_PROGRAM_BYTES} bytes and the schema at most {MAX_SCHEMA_BYTES};"
            f" these have {len(program)} and {len(schema)}"
        )
    if draft.risk.upper() not in Risk.__members__:
        raise InputError(f"the risk {draft.risk[:40]!r} is none of {', '.join(each.label.lower() for each in Risk)}")
    if problem := find_schema_problem(dict(draft.parameters)):
        raise InputError(f"the parameters: {problem}")


def _build_manifest(draft: CustomToolDraft) -> bytes:
    tool = {
        "name": draft.name,
        "description": draft.description,
        "riskLevel": draft.risk.lower(),
        "parameters": dict(draft.parameters),
    }
    manifest = {
        "name": draft.name,
        "version": "1.0.0",
        "description": draft.description,
        "runtime": "python",
        "entrypoint": PROGRAM_FILE,
        "sandbox": {"network": False, "timeoutSeconds": SECONDS, "maxMemoryMb": MEMORY_MB},
        "tools": [tool],
    }
    return orjson.dumps(manifest, option=orjson.OPT_INDENT_2)


def _read_tool(folder: Path) -> CustomTool:
    """Raises ManifestError, InputError, OSError."""
    for name in (MANIFEST_FILE, PROGRAM_FILE, STATE_FILE):
        path = folder / name
        if path.is_symlink() or not path.is_file():
            raise InputError(f"{name} is missing, or a link")
        if path.stat().st_size > 4 * MAX_PROGRAM_BYTES:
            raise InputError(f"{name} is too large")
    try:
        state: dict[str, Any] = orjson.loads((folder / STATE_FILE).read_bytes())
        flags = (state["enabled"], state["shared"])
        texts = (state["owner"], state["created_at"], state["digest"], *state["sources"])
        if not all(type(each) is bool for each in flags) or not all(isinstance(each, str) for each in texts):
            raise InputError(f"{STATE_FILE} has values of the wrong type")
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise InputError(f"{STATE_FILE} cannot be read: {error}") from error
    manifest_bytes, program = (folder / MANIFEST_FILE).read_bytes(), (folder / PROGRAM_FILE).read_bytes()
    if _digest(manifest_bytes, program) != state["digest"]:
        raise InputError("the program or its manifest was changed after it was approved; it is not used")
    manifest = parse_manifest(manifest_bytes.decode(), folder / MANIFEST_FILE)
    if manifest.name != folder.name or len(manifest.tools) != 1 or manifest.network:
        raise InputError(f"{MANIFEST_FILE} is not that of a custom tool of this name")
    return CustomTool(
        name=folder.name,
        owner=state["owner"],
        is_enabled=state["enabled"],
        is_shared=state["shared"],
        created_at=state["created_at"],
        sources=tuple(state["sources"]),
        folder=folder,
        manifest=manifest,
        program=program,
        digest=state["digest"],
    )


def _read_owner(folder: Path) -> str:
    """Return the owner of a tool that cannot be used; "" if its state does not say."""
    path = folder / STATE_FILE
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > 4 * MAX_PROGRAM_BYTES:
            return ""
        state: Any = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return ""
    owner = state.get("owner") if isinstance(state, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - what JSON has
    return owner if isinstance(owner, str) else ""


def _to_state(tool: CustomTool) -> dict[str, Any]:
    return {
        "owner": tool.owner,
        "enabled": tool.is_enabled,
        "shared": tool.is_shared,
        "created_at": tool.created_at,
        "sources": [*tool.sources],
    }


def _write_state(folder: Path, state: Mapping[str, Any], digest: str) -> None:
    """Write the state with the digest of what was approved: what is in the folder by now may be something else."""
    new = folder / f".{STATE_FILE}.new"
    new.write_bytes(orjson.dumps({**state, "digest": digest}, option=orjson.OPT_INDENT_2))
    new.replace(folder / STATE_FILE)


def _digest(manifest: bytes, program: bytes) -> str:
    return hashlib.sha256(b"%d\n%b%b" % (len(manifest), manifest, program)).hexdigest()


def _restore_replaced(folder: Path) -> None:
    """Bring back the tools whose update was killed when the old one was out of place and the new one not in it."""
    for leaving in folder.glob(f".*{REPLACED}"):
        target = folder / leaving.name.removeprefix(".").removesuffix(REPLACED)
        if not target.exists():
            with suppress(OSError):
                leaving.rename(target)


def _list_folders(folder: Path) -> list[Path]:
    try:
        return sorted(each for each in folder.iterdir() if _NAME.fullmatch(each.name) and each.is_dir())
    except OSError:
        return []  # not there yet
