"""Operations on workspace files, which stand in the prompts of a user; those of everybody are for operators."""

from functools import partial
from pathlib import Path
from typing import Annotated

from sophon.composition.part_factories import find_memory_folder
from sophon.errors import ChangedMeanwhile, InputError, NotFound
from sophon.memory.workspace_files import MAX_FILE_BYTES
from sophon.memory.workspace_templates import HEARTBEAT_FILE, SHARED_FILES, WORKSPACE_TEMPLATES
from sophon.principals import files_folder
from sophon.stores.memories.workspace_writes import FileVersion, read_version, save_version
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.client_api.client_errors import Forbidden
from sophon_hosting.features.memory.results import WorkspaceFile, WorkspaceFileList
from sophon_hosting.features.settings.change_audit import record_change
from sophon_hosting.operations.permission_check import check_permission
from sophon_hosting.operations.request import Doc, NoFields, Request
from sophon_hosting.operations.table import Table

table = Table("memory")


class NamedFile(Request):
    """A workspace file by its name."""

    name: Annotated[str, Doc("Name of a file, as `USER.md`.")]


class ChangedFile(NamedFile):
    """The whole text of a file, and the version that it was made from."""

    text: str
    version: Annotated[str, Doc("That of the file as it was read; empty for one that was not there.")]


@table.operation("GET /api/workspace", needs="Memory")
async def list_workspace_files(caller: Caller, request: NoFields) -> WorkspaceFileList:
    """List the files that the user may edit, in the order of the prompt.

    These are their `USER.md`, `MEMORY.md` and `HEARTBEAT.md`, and for operators `IDENTITY.md` and `SOUL.md`, which are
    everybody's (`shared`).
    """
    if _find_folder(caller) is None:
        return {"items": []}
    return {
        "items": [
            {"name": name, "shared": name in SHARED_FILES, "max_bytes": MAX_FILE_BYTES}
            for name in WORKSPACE_TEMPLATES
            if name not in SHARED_FILES or caller.user.operator
        ]
    }


@table.operation("GET /api/workspace/{name}", needs="Memory", errors=(Forbidden, NotFound))
async def read_workspace_file(caller: Caller, request: NamedFile) -> WorkspaceFile:
    """Return a file: its text and its version; of one that is not there a beginning, with the version `""`."""
    name, path = request.name, _find_path(caller, request.name)
    found = await _run(caller, name, partial(read_version, path))
    text = found.text if found.version else WORKSPACE_TEMPLATES[name]
    return {"name": name, "text": text, "version": found.version}


@table.operation(
    "PUT /api/workspace/{name}",
    needs="Memory",
    ok=True,
    errors=(Forbidden, NotFound, ChangedMeanwhile),
    example={"text": "I am Ada.\n", "version": ""},
)
async def save_workspace_file(caller: Caller, request: ChangedFile) -> WorkspaceFile:
    """Replace the text of a file, at most 100,000 bytes; `changed_meanwhile` if it no longer has that version.

    A change of everybody's is in the audit log. `HEARTBEAT.md` needs Chat, too: its lines are messages of the user.
    """
    name, path = request.name, _find_path(caller, request.name)
    if name == HEARTBEAT_FILE:
        check_permission(caller, "Chat")
    saved = await _run(caller, name, partial(save_version, path, request.text, request.version))
    if name in SHARED_FILES:
        await record_change(
            caller.store,
            caller.clock,
            by=caller.user.id,
            what="workspace file",
            name=name,
            outcome="saved",
            details={"bytes": len(saved.text.encode()), "version": saved.version},
        )
    return {"name": name, "text": saved.text, "version": saved.version}


def _find_folder(caller: Caller) -> Path | None:
    return find_memory_folder(caller.settings, caller.folder)


def _find_path(caller: Caller, name: str) -> Path:
    """Return the path of a file that the user may edit; nobody reaches the folder of another user."""
    folder = _find_folder(caller)
    if folder is None or name not in WORKSPACE_TEMPLATES:
        raise NotFound("workspace file", name)
    if name in SHARED_FILES:
        check_permission(caller, "Operator")
        return folder / name
    return folder / files_folder(caller.user.id) / name


async def _run(caller: Caller, name: str, step: "partial[FileVersion]") -> FileVersion:
    try:
        return await caller.clock.run_in_thread(step)
    except OSError as error:
        raise InputError(f"{name} cannot be used on the host: {error.strerror or error}") from error
