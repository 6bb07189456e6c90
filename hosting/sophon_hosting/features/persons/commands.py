"""`sophon persons`: export, import and forget everything that is kept of a person."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from sophon.clock import SystemClock
from sophon.stores.memories.long_term_memory import LongTermMemory
from sophon_hosting.cli.bootstrap import load_cli_settings, run_with_store
from sophon_hosting.cli.common_options import command_group
from sophon_hosting.cli.console.json_lines import read_json_lines
from sophon_hosting.cli.console.output import open_new_file, write_lines, write_notice
from sophon_hosting.cli.global_options import GlobalOptions
from sophon_hosting.cli.operation_commands import Row, delete_command
from sophon_hosting.cli.server_bootstrap import create_store_lease
from sophon_hosting.features.persons.export import PersonExport
from sophon_hosting.features.persons.forgetting import check_person
from sophon_hosting.features.persons.operations import forget_person
from sophon_hosting.features.persons.person_files import PersonFolders
from sophon_hosting.features.persons.person_import import Imported, import_person
from sophon_hosting.json_text import encode_json
from sophon_hosting.operations.client import Client
from sophon_hosting.store.contract import HostStore

PersonArgument = Annotated[
    str, typer.Argument(metavar="PERSON", help="A user, local, a person on a channel as telegram:5, or a group.")
]

KINDS_OF_ANYBODY = ("person", "account")
"""Kinds of lines that an export has also if nothing is kept of the person."""

app = command_group("Export, import and forget everything that is kept of a person.")


@app.command()
def export(
    ctx: typer.Context,
    person: PersonArgument,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The new file to write.")],
) -> None:
    """Write everything that is kept of a person as JSON lines. A host may run."""
    check_person(person)
    options: GlobalOptions = ctx.obj
    folders = _folders(options)

    async def run(store: HostStore) -> tuple[int, bool]:
        count, is_known = 0, False
        with open_new_file(output) as file:
            async for each in PersonExport(store, SystemClock(), folders).read(person):
                file.write(f"{encode_json(each)}\n")
                count, is_known = count + 1, is_known or each["kind"] not in KINDS_OF_ANYBODY
        return count, is_known

    count, is_known = run_with_store(options, run)
    write_notice(f"{count} lines were written to {output}")
    if not is_known:
        write_notice(f"nothing is kept of {person!r}; check the name")


@app.command("import")
def import_file(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `sophon persons export` has written.")],
    person: Annotated[str, typer.Option("--user", metavar="PERSON", help="Whose it is from now on.")],
) -> None:
    """Bring the sessions and the memory of an export back. No host may run; sessions that exist stay as they are."""
    items = read_json_lines(file)

    async def run(store: HostStore) -> Imported:
        return await import_person(store, LongTermMemory(store, SystemClock()), person, items)

    with create_store_lease(ctx.obj, load_cli_settings(ctx.obj)):
        done = run_with_store(ctx.obj, run)
    write_lines([f"{done.sessions} sessions and {done.memories} memory entries of {person} were imported."])
    if done.known_sessions:
        write_lines([f"{done.known_sessions} sessions exist already, and stay as they are."])


def _ask(client: Client, fields: Row) -> str:
    check_person(fields["person"])
    return f"Delete all sessions, memory and files that are kept of {fields['person']}, for good?"


def forgotten_lines(row: Row) -> Sequence[str]:
    """Return what was deleted of a person, and where messages of the person stay."""
    person, others = row["person"], row["other_sessions"]
    counts = ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in row["deleted"].items())
    lines = [f"{person} is forgotten: {counts or 'nothing was kept'}."]
    return [*lines, f"Messages of {person} stay in sessions of others: {', '.join(others)}."] if others else lines


delete_command(
    app,
    forget_person,
    _ask,
    forgotten_lines,
    name="forget",
    otherwise="nothing was forgotten",
    options={"person": PersonArgument},
    summary="Delete everything that is kept of a person, for good. A running host does it itself.",
)


def _folders(options: GlobalOptions) -> PersonFolders:
    return PersonFolders.of_settings(load_cli_settings(options), options.settings_folder)
