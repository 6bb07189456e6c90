"""`sophon snapshots`: list, compare, restore and verify the copies of files before tool calls. A host may run."""

from pathlib import Path
from typing import Annotated, Any

import typer

from sophon.clock import SystemClock
from sophon.errors import InputError, NotFound
from sophon.principals import LOCAL_USER, files_folder
from sophon.snapshots.archive import SnapshotArchive
from sophon.snapshots.restoration import (
    RestoredFile,
    check_copies,
    find_loss,
    format_diff,
    restore_files,
    select_files,
)
from sophon.stores.snapshots.stored_snapshot import SnapshotEvent, StoredSnapshot
from sophon_hosting.cli.bootstrap import load_cli_settings, run_with_store
from sophon_hosting.cli.common_options import JsonOption, command_group
from sophon_hosting.cli.console.output import write_json, write_lines, write_notice, write_result, write_table
from sophon_hosting.cli.global_options import GlobalOptions
from sophon_hosting.rendering.value_formatting import format_time
from sophon_hosting.store.contract import HostStore

DEFAULT_LIMIT = 50
MAX_LIMIT = 1000
MAX_NUMBER = 2**53
"""Largest number that JSON carries exactly."""

UserOption = Annotated[str, typer.Option("--user", metavar="USER", help="Whose files; the local user's by default.")]
NumberArgument = Annotated[
    int, typer.Argument(min=1, max=MAX_NUMBER, metavar="NUMBER", help="Number of a snapshot, from `list`.")
]
PathsArgument = Annotated[list[str] | None, typer.Argument(metavar="[PATH]...", help="Only these files.")]

app = command_group("List, compare, restore and verify the copies of files before tool calls changed them.")


@app.command("list")
def list_snapshots(
    ctx: typer.Context,
    user: UserOption = LOCAL_USER,
    before: Annotated[
        int | None, typer.Option(min=1, max=MAX_NUMBER, metavar="NUMBER", help="The page before this snapshot.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=MAX_LIMIT, metavar="N", help="Snapshots of a page.")] = DEFAULT_LIMIT,
    as_json: JsonOption = False,
) -> None:
    """List the snapshots of a user's files, the newest first."""
    found, owners = run_with_store(ctx.obj, lambda store: _list(store, user, before, limit))
    if as_json:
        write_json([_to_json(snapshot) for snapshot in found])
        return
    if not found:
        write_lines(["There are no snapshots."])
    else:
        write_table(("number#", "time (UTC)", "tool", "session", "files"), map(_table_row, found))
    if len(found) == limit:
        write_notice(f"older snapshots: sophon snapshots list --before {found[-1].number}")
    if others := [owner for owner in owners if owner != user]:
        write_notice(f"other users with snapshots (--user): {', '.join(others)}")


@app.command()
def diff(
    ctx: typer.Context,
    number: NumberArgument,
    paths: PathsArgument = None,
    user: UserOption = LOCAL_USER,
    as_json: JsonOption = False,
) -> None:
    """Show what has changed since a snapshot: texts line by line, other files as digests."""
    root, archive = _find_folders(ctx.obj, user)
    snapshot = run_with_store(ctx.obj, lambda store: _get(store, user, number))
    changes = {file.path: _diff(root, archive, file) for file in select_files(snapshot.event.files, paths or [])}
    rows = [{"path": path, "diff": lines} for path, lines in changes.items()]
    lines = [line for changed in changes.values() for line in changed]
    write_result(rows, lines or ["Nothing has changed."], as_json=as_json)


@app.command()
def restore(
    ctx: typer.Context,
    number: NumberArgument,
    paths: PathsArgument = None,
    user: UserOption = LOCAL_USER,
    force: Annotated[
        bool, typer.Option("--force", help="Also if the present files are too large to be copied first.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Bring files back to what they were. What they are now becomes a snapshot first."""
    kept, restored = run_with_store(ctx.obj, lambda store: _restore(ctx.obj, store, user, number, paths or [], force))
    if as_json:
        write_json({"kept": kept, "files": [{"path": each.path, "change": each.change} for each in restored]})
        return
    write_lines([f"{each.path}: {_CHANGES[each.change]}" for each in restored])
    if kept is not None:
        write_notice(f"What was there is snapshot {kept}: sophon snapshots restore {kept}")


_CHANGES = {"same": "unchanged", "restored": "restored", "removed": "removed, it did not exist before"}


@app.command()
def verify(ctx: typer.Context, user: UserOption = LOCAL_USER, as_json: JsonOption = False) -> None:
    """Check the hash chain and every copy; name what is broken and exit 1 if anything is."""
    _, archive = _find_folders(ctx.obj, user)
    count, problems = run_with_store(ctx.obj, lambda store: _verify(store, archive, user))
    lines = problems or [f"The chain and the copies are intact: {count} snapshots."]
    write_result({"snapshots": count, "problems": problems}, lines, as_json=as_json)
    raise typer.Exit(1 if problems else 0)


async def _list(store: HostStore, user: str, before: int | None, limit: int) -> tuple[list[StoredSnapshot], list[str]]:
    return await store.snapshots.list(user, before=before, limit=limit), list(await store.snapshots.list_owners())


async def _get(store: HostStore, user: str, number: int) -> StoredSnapshot:
    found = await store.snapshots.find(user, number)
    if found is None:
        raise NotFound("snapshot", str(number))
    return found


async def _restore(
    options: GlobalOptions, store: HostStore, user: str, number: int, paths: list[str], force: bool
) -> tuple[int | None, list[RestoredFile]]:
    """Restore files; return the number of the snapshot of what was there, None if it was too large."""
    root, archive = _find_folders(options, user)
    files = select_files((await _get(store, user, number)).event.files, paths)
    problems = check_copies(archive, files)
    if problems:
        raise InputError(f"{problems[0]}; nothing was restored")
    clock, max_bytes = SystemClock(), load_cli_settings(options).guards.snapshot.max_file_bytes
    loss = find_loss(root, files, max_bytes)
    if loss is not None and not force:
        raise InputError(f"the restoration could not be undone: {loss}; --force restores nevertheless")
    kept_id = clock.new_id()
    try:
        current = archive.take(root, kept_id, [file.path for file in files], max_bytes)
        event = SnapshotEvent(kept_id, user, clock.now(), "", "", "", "restore", current)
        await store.snapshots.add([event])
        restored = restore_files(root, archive, files, current)
    except OSError as error:
        raise InputError(f"snapshot {number} cannot be restored: {error.strerror or error}") from error
    newest = await store.snapshots.list(user, limit=10)
    return next((each.number for each in newest if each.event.id == kept_id and loss is None), None), restored


async def _verify(store: HostStore, archive: SnapshotArchive, user: str) -> tuple[int, list[str]]:
    found = await store.snapshots.verify(user)
    problems = [found.problem.replace("entry", "snapshot")] if found.broken is not None else []
    before: int | None = None
    while page := await store.snapshots.list(user, before=before, limit=MAX_LIMIT):
        before = page[-1].number
        problems += [f"snapshot {each.number}: {problem}" for each in page for problem in _check(archive, each)]
    return found.count, problems


def _check(archive: SnapshotArchive, snapshot: StoredSnapshot) -> list[str]:
    return check_copies(archive, snapshot.event.files)


def _diff(root: Path, archive: SnapshotArchive, file: Any) -> list[str]:
    try:
        return format_diff(root, archive, file)
    except OSError as error:
        raise InputError(f"{file.path} cannot be compared: {error.strerror or error}") from error


def _find_folders(options: GlobalOptions, user: str) -> tuple[Path, SnapshotArchive]:
    """Return the files folder of a user, and the archive of the host."""
    folder = options.settings_folder.absolute()
    root = folder / load_cli_settings(options).tools.files_root / files_folder(user)
    return root, SnapshotArchive(folder)


def _table_row(snapshot: StoredSnapshot) -> list[str]:
    event = snapshot.event
    paths = [file.path if file.existed else f"{file.path} (new)" for file in event.files]
    more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
    return [str(snapshot.number), format_time(event.at), event.tool, event.session_id, ", ".join(paths[:3]) + more]


def _to_json(snapshot: StoredSnapshot) -> dict[str, Any]:
    return {"number": snapshot.number, **snapshot.event.build_fields(), "hash": snapshot.hash}
