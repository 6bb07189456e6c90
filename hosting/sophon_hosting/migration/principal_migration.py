"""Principal migration: reads store and files folder, makes the plan, and carries it out."""

from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path

from sophon.attachments import UPLOADS_FOLDER
from sophon.errors import NotFound
from sophon.principals import PRINCIPALS_FOLDER, files_folder, owns_files_root
from sophon.private_files import make_private_folder
from sophon.stores.channel_state.contract import ChannelStateEntry
from sophon.stores.contract import Store
from sophon.stores.runs.contract import Run
from sophon_hosting.migration.plan import (
    NOBODY,
    Kept,
    MigrationPlan,
    Move,
    find_renamed_users,
    plan_early_principals,
    plan_memory,
    plan_other_files,
    plan_session,
    plan_uploads,
)
from sophon_hosting.run_audience import audience_of_run

SET_ASIDE_FOLDER = "set-aside"
"""Folder below the files folder, the local user's only, for what was below `principals` before files had owners."""

CHECKED_KEY = ("system", "", "migration", "principals")
PRINCIPALS_CHECKED = ChannelStateEntry(*CHECKED_KEY, {})
"""Note in the store, which no file tool can write, that a migration has reported what is below `principals`."""

ALL = 1_000_000
"""Limit of a list that must be complete."""


class PrincipalMigration:
    """Migration of one store and one files folder. `files_to` receives the files of which nobody knows whose they are.

    With `set_aside`, what is below `principals` already is moved out of everybody's reach first. A host must not run
    meanwhile. Applying it twice does nothing the second time.
    """

    def __init__(
        self,
        store: Store,
        files_root: Path,
        user_ids: Collection[str],
        *,
        files_to: str | None = None,
        set_aside: bool = False,
    ) -> None:
        self._store, self._root, self._files_to, self._set_aside = store, files_root, files_to, set_aside
        self._renamed = find_renamed_users(user_ids)

    async def plan(self) -> MigrationPlan:
        """Return what would be done; changes nothing."""
        plan = MigrationPlan()
        for old, new in self._renamed.items():
            await self._plan_user(plan, old, new)
        await self._plan_files(plan)
        return plan

    async def apply(self) -> MigrationPlan:
        """Carry out the plan of this moment and return what was done."""
        plan = await self.plan()
        done = MigrationPlan(kept=plan.kept)
        for move in plan.moves:
            done.add(await self._apply(move))
        await self._store.channel_state.put(PRINCIPALS_CHECKED)
        return done

    async def _plan_user(self, plan: MigrationPlan, old: str, new: str) -> None:
        moved: set[str] = set()
        for session in await self._store.sessions.list(old):
            runs = await self._store.runs.list(session_id=session.id, limit=ALL)
            step = plan_session(session.id, old, new, {run.channel for run in runs})
            if isinstance(step, Move):
                moved.add(session.id)
            plan.add(step)
        for entry in await self._store.memories.list_all(scope=old):
            plan.add(plan_memory(entry, new, moved))

    async def _plan_files(self, plan: MigrationPlan) -> None:
        if await self._store.channel_state.get(*CHECKED_KEY) is None:
            for step in plan_early_principals(list_principal_entries(self._root), set_aside=self._set_aside):
                plan.add(step)
        waiting = await self._unsent_payloads()
        for path in _list_upload_folders(self._root):
            run = await self._find_run(path.name)
            owner = audience_of_run(run).data_owner if run is not None else None
            name = path.relative_to(self._root).as_posix()
            plan.add(plan_uploads(name, owner, any(str(path.resolve()) in each for each in waiting)))
        for step in plan_other_files(list_shared_files(self._root), self._files_to):
            plan.add(step)

    async def _unsent_payloads(self) -> list[str]:
        entries = await self._store.outbox.list(limit=ALL)
        return [repr(entry.payload) for entry in entries if entry.status not in ("sent", "dead")]

    async def _find_run(self, run_id: str) -> Run | None:
        try:
            return await self._store.runs.get(run_id)
        except NotFound:
            return None

    async def _apply(self, move: Move) -> Move | Kept:
        match move.kind:
            case "session":
                await self._give_session(move)
            case "memory":
                await self._give_memory(move)
            case "files":
                return _move_files(self._root, move)
        return move

    async def _give_session(self, move: Move) -> None:
        for run in await self._store.runs.list(session_id=move.name, limit=ALL):
            if run.owner == move.owner:
                await self._store.runs.change_owner(run.id, move.new_owner)
        # Last, so that an interrupted migration finds the session again.
        await self._store.sessions.change_owner(move.name, move.new_owner)

    async def _give_memory(self, move: Move) -> None:
        for entry in await self._store.memories.list_all(scope=move.owner):
            if entry.id == move.name:
                await self._store.memories.write(replace(entry, scope=move.new_owner))


def list_shared_files(root: Path) -> list[str]:
    """Return the names in the files folder that belong to nobody in particular, sorted; none if it does not exist."""
    if not root.is_dir():
        return []
    return sorted(
        each.name for each in root.iterdir() if each.name not in (PRINCIPALS_FOLDER, UPLOADS_FOLDER, SET_ASIDE_FOLDER)
    )


def list_principal_entries(root: Path) -> list[str]:
    """Return the entries below the principals' folder as paths relative to the root, sorted; none without it."""
    folder = root / PRINCIPALS_FOLDER
    if not folder.is_dir() or folder.is_symlink():
        return [PRINCIPALS_FOLDER] if folder.exists() or folder.is_symlink() else []
    return sorted(f"{PRINCIPALS_FOLDER}/{each.name}" for each in folder.iterdir())


def has_shared_data(root: Path, user_ids: Collection[str]) -> bool:
    """Return whether `sophon migrate` has something to say, without opening the store."""
    return bool(find_renamed_users(user_ids) or list_shared_files(root)) or any(_list_upload_folders(root))


def _list_upload_folders(root: Path) -> Iterator[Path]:
    for channel in sorted((root / UPLOADS_FOLDER).glob("*")):
        if channel.is_dir() and not channel.is_symlink():
            yield from sorted(each for each in channel.iterdir() if each.is_dir() and not each.is_symlink())


def _move_files(root: Path, move: Move) -> Move | Kept:
    """Rename below the root, so that no half-moved file exists; never replace what is there."""
    source = root / move.name
    if move.new_owner == NOBODY:
        target = root / SET_ASIDE_FOLDER / move.name
    else:
        target = root / files_folder(move.new_owner) / move.name
    if move.new_owner != NOBODY and owns_files_root(move.new_owner):
        return Kept("files", move.name, "the local user has it already")
    if target.exists() or target.is_symlink():
        return Kept("files", move.name, f"{target} exists already")
    make_private_folder(target.parent)
    source.rename(target)
    _remove_if_empty(source.parent, root)
    return move


def _remove_if_empty(folder: Path, root: Path) -> None:
    while folder != root and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent
