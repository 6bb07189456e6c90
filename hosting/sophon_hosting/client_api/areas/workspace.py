"""Workspace files that stand in the prompts of a user, to read and edit; those of everybody are for operators."""

from functools import partial
from pathlib import Path
from typing import Any

from sophon.configured_parts import find_memory_folder
from sophon.errors import InputError, NotFound
from sophon.memory.heartbeat import HEARTBEAT_FILE
from sophon.memory.workspace import MAX_FILE_BYTES
from sophon.memory.workspace_templates import SHARED_FILES, WORKSPACE_TEMPLATES
from sophon.principals import files_folder
from sophon.stores.memories.workspace_files import FileVersion, read_version, save_version
from sophon_hosting.client_api.user_access import UserAccess
from sophon_hosting.live_settings.change_audit import record_change


class UserWorkspace:
    """The files of one user, each operation with its permission check. Nobody reaches the folder of another user."""

    def __init__(self, access: UserAccess) -> None:
        self._access = access

    def list(self) -> list[dict[str, Any]]:
        """Return the names of the files that the user may edit, in the order of the prompt; none without a folder."""
        self._access.rights.require("Memory")
        if self._find_folder() is None:
            return []
        return [
            {"name": name, "shared": name in SHARED_FILES, "max_bytes": MAX_FILE_BYTES}
            for name in WORKSPACE_TEMPLATES
            if name not in SHARED_FILES or self._access.user.operator
        ]

    async def read(self, name: str) -> dict[str, Any]:
        """Return a file with its version; the beginning of one that is not there. Raises Forbidden, NotFound,
        InputError.
        """
        path = self._find(name)
        found = await self._run(name, partial(read_version, path))
        return {
            "name": name,
            "text": found.text if found.version else WORKSPACE_TEMPLATES[name],
            "version": found.version,
        }

    async def save(self, name: str, text: str, version: str) -> dict[str, Any]:
        """Replace the text of a file that is as it was when `version` was read; of everybody's it is recorded.

        Raises Forbidden, NotFound, ChangedMeanwhile, and InputError for a text that is too large.
        """
        path, services = self._find(name), self._access.host.services
        if name == HEARTBEAT_FILE:
            self._access.rights.require("Chat")  # its lines are messages of the user
        saved = await self._run(name, partial(save_version, path, text, version))
        if name in SHARED_FILES:
            await record_change(
                services.store,
                services.clock,
                by=self._access.user.id,
                what="workspace file",
                name=name,
                outcome="saved",
                details={"bytes": len(saved.text.encode()), "version": saved.version},
            )
        return {"name": name, "text": saved.text, "version": saved.version}

    def _find_folder(self) -> Path | None:
        services = self._access.host.services
        return find_memory_folder(services.settings, services.folder)

    def _find(self, name: str) -> Path:
        self._access.rights.require("Memory")
        folder = self._find_folder()
        if folder is None or name not in WORKSPACE_TEMPLATES:
            raise NotFound("workspace file", name)
        if name in SHARED_FILES:
            self._access.require_operator()
            return folder / name
        return folder / files_folder(self._access.user.id) / name

    async def _run(self, name: str, step: "partial[FileVersion]") -> FileVersion:
        try:
            return await self._access.host.services.clock.run_in_thread(step)
        except OSError as error:
            raise InputError(f"{name} cannot be used on the host: {error.strerror or error}") from error
