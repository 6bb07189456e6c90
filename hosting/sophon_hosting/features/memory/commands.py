"""`sophon memory`: list, search, show, correct, forget, export and import what is remembered. A host may run."""

import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from sophon.clock import SystemClock
from sophon.composition.part_factories import needs_embedder
from sophon.errors import InputError, NotFound
from sophon.extras import install_command
from sophon.memory.workspace_index import FileChunk
from sophon.models.embeddings.embedder_factory import create_cached_embedder
from sophon.principals import LOCAL_USER
from sophon.settings import Settings
from sophon.stores.memories.contract import MemoryEntry
from sophon.stores.memories.exported_entry import entry_to_json
from sophon.stores.memories.long_term_memory import FoundMemory, LongTermMemory, choose_embedder
from sophon.stores.memories.workspace_search import WorkspaceSearch
from sophon_hosting.cli.bootstrap import load_cli_settings, run_with_store
from sophon_hosting.cli.common_options import IgnoredJsonOption, JsonOption, OutputOption, command_group
from sophon_hosting.cli.console.confirmation import YesOption, confirm
from sophon_hosting.cli.console.json_lines import read_json_lines, write_json_lines
from sophon_hosting.cli.console.output import fact_lines, write_json, write_lines, write_result, write_table
from sophon_hosting.cli.global_options import GlobalOptions
from sophon_hosting.cli.remote.host_selection import open_store_client
from sophon_hosting.features.memory.operations import delete_memory_entry, get_memory_entry
from sophon_hosting.features.memory.results import chunk_to_json
from sophon_hosting.features.persons.person_files import PersonFolders
from sophon_hosting.rendering.control_characters import to_single_line
from sophon_hosting.rendering.value_formatting import format_time
from sophon_hosting.store.contract import HostStore

T = TypeVar("T")

DEFAULT_LIMIT = 50
MAX_LIMIT = 1000
SHOWN_CHARACTERS = 80

UserOption = Annotated[
    str, typer.Option("--user", metavar="ID", help="Whose memory: a person or a chat, as `telegram:5`.")
]
LimitOption = Annotated[int, typer.Option(min=1, max=MAX_LIMIT, metavar="N", help="Entries at most.")]
IdArgument = Annotated[str, typer.Argument(metavar="ID", help="Id of an entry; `sophon memory list` shows them.")]
NOTHING = "nothing was forgotten"

app = command_group("List, search, show, correct, forget, export and import what is remembered of a person.")


@app.command("list")
def list_entries(
    ctx: typer.Context, user: UserOption = LOCAL_USER, limit: LimitOption = DEFAULT_LIMIT, as_json: JsonOption = False
) -> None:
    """List the entries, the newest first."""
    found = _run(ctx.obj, lambda memory, _: memory.search("", scope=user, limit=limit))
    _write(found, as_json=as_json, none=f"Nothing is remembered of {user}.")


@app.command()
def search(
    ctx: typer.Context,
    query: Annotated[str, typer.Argument(metavar="TEXT", help="What to look for.")],
    user: UserOption = LOCAL_USER,
    limit: LimitOption = 10,
    as_json: JsonOption = False,
) -> None:
    """Search entries and notes by words and, with a model for embeddings, by similarity; the best first."""

    async def run(memory: LongTermMemory, _: HostStore) -> tuple[Sequence[FoundMemory], Sequence[FileChunk]]:
        found = await memory.search(query, scope=user, limit=limit)
        folder = PersonFolders.of_settings(load_cli_settings(ctx.obj), ctx.obj.settings_folder).memory
        if folder is None:
            return found, ()
        notes = WorkspaceSearch(folder, SystemClock(), memory.embedder)
        return found, await notes.search(query, owner=user, limit=limit)

    found, notes = _run(ctx.obj, run)
    _write(found, notes, as_json=as_json, none=f"Nothing that matches {query!r} is remembered of {user}.")


@app.command()
def show(ctx: typer.Context, entry: IdArgument, as_json: JsonOption = False) -> None:
    """Show an entry: whose it is, where it comes from, which turns see it, and its text."""
    found = open_store_client(ctx.obj).call(get_memory_entry, entry_id=entry)
    reach, sources = found["reach"], found["sources"]
    facts = {
        "entry": found["id"],
        "of": found["scope"],
        "category": found["category"],
        "seen by": reach if reach == "owner" else f"{reach} {found['agent'] or found['session_id']}",
        "written": format_time(found["created_at"]),
        "in": found["origin"],
        "trusted": "yes" if found["trusted"] else f"no, it may come from {', '.join(sources or ['unknown'])}",
        "names": ", ".join(found["entities"]),
        "relations": "; ".join(map(" ".join, found["relations"])),
    }
    write_result(found, [*fact_lines(facts), "", found["text"]], as_json=as_json)


@app.command()
def correct(
    ctx: typer.Context, entry: IdArgument, text: Annotated[str, typer.Argument(metavar="TEXT", help="The right text.")]
) -> None:
    """Replace the text of an entry; it is trusted from then on."""

    async def run(memory: LongTermMemory, store: HostStore) -> None:
        found = (await store.memories.find([entry])).get(entry)
        if found is None:
            raise NotFound("memory entry", entry)
        await memory.correct(found, text)

    _run(ctx.obj, run)
    write_lines([f"{entry} is corrected."])


@app.command()
def forget(
    ctx: typer.Context,
    entry: Annotated[str | None, typer.Argument(metavar="[ID]", help="Id of an entry.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Everything of --user.")] = False,
    user: UserOption = LOCAL_USER,
    yes: YesOption = False,
) -> None:
    """Delete an entry, or everything that is remembered of a person, for good."""
    if (entry is None) is not everything:
        raise InputError("give the id of an entry, or --all")
    if entry is not None:
        client = open_store_client(ctx.obj)
        text = client.call(get_memory_entry, entry_id=entry)["text"]
        confirm(f"Forget {to_single_line(text, SHOWN_CHARACTERS)!r}?", yes=yes, otherwise=NOTHING)
        client.call(delete_memory_entry, entry_id=entry)
        write_lines([f"{entry} is forgotten."])
        return
    count = _run(ctx.obj, lambda _, store: store.memories.count(scope=user))
    confirm(f"Forget all {count} entries of {user}?", yes=yes, otherwise=NOTHING)
    count = _run(ctx.obj, lambda memory, _: memory.forget_all(user))
    write_lines([f"{count} entries of {user} are forgotten."])


@app.command()
def export(
    ctx: typer.Context,
    user: UserOption = LOCAL_USER,
    output: OutputOption = None,
    as_json: IgnoredJsonOption = False,
) -> None:
    """Write everything that is remembered of a person as JSON lines, the oldest first."""
    items = _run(ctx.obj, lambda memory, _: memory.export(user))
    write_json_lines(items, output, what="entries")


@app.command("import")
def import_file(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `sophon memory export` has written.")],
    user: UserOption = LOCAL_USER,
) -> None:
    """Read the entries of an export as those of a person; one with the same id is replaced."""
    items = read_json_lines(file)
    count = _run(ctx.obj, lambda memory, _: memory.import_entries(user, items))
    write_lines([f"{count} entries of {user} were imported."])


@app.command()
def reindex(ctx: typer.Context, user: UserOption = LOCAL_USER) -> None:
    """Make the index of words anew, and the vectors of a person: after another embedder was set, or one had failed."""

    async def run(memory: LongTermMemory, store: HostStore) -> tuple[int, int | None]:
        indexed = await store.memories.rebuild_index()
        return indexed, await memory.reindex(user) if memory.has_vectors else None

    indexed, count = _run(ctx.obj, run)
    vectors = f"{count} entries of {user} have a vector"
    if count is None:
        vectors = f"there are no vectors: {_explain_no_vectors(load_cli_settings(ctx.obj))}"
    write_lines([f"{indexed} entries are in the index of words; {vectors}."])


def _explain_no_vectors(settings: Settings) -> str:
    if settings.memory.embedder is None or needs_embedder(settings):
        return "Memory.Embedder is null, or Auto with the embedder Hashing"
    needed = f"they need numpy ({install_command('vectors')})"
    return needed if settings.memory.embedder == "Embeddings" else f"{needed}, and another embedder than Hashing"


def _run(options: GlobalOptions, operation: Callable[[LongTermMemory, HostStore], Awaitable[T]]) -> T:
    settings, clock = load_cli_settings(options), SystemClock()
    has_embedder = needs_embedder(settings)
    cached = create_cached_embedder(settings.embeddings, os.environ, clock) if has_embedder else None
    embedder = choose_embedder(settings.memory.embedder, cached)

    async def run(store: HostStore) -> T:
        try:
            return await operation(LongTermMemory(store, clock, embedder), store)
        finally:
            if cached is not None:
                await cached.aclose()

    return run_with_store(options, run)


def _write(found: Sequence[FoundMemory], notes: Sequence[FileChunk] = (), *, as_json: bool, none: str) -> None:
    if as_json:
        write_json([*(_to_json(each) for each in found), *(chunk_to_json(each) for each in notes)])
    elif found or notes:
        rows = [_to_cells(each.entry) for each in found] + [_chunk_to_cells(each) for each in notes]
        write_table(("id", "time (UTC)", "category", "trusted", "text"), rows)
    else:
        write_lines([none])


def _to_json(found: FoundMemory) -> dict[str, Any]:
    return {**entry_to_json(found.entry), "score": round(found.score, 4), "found_by": found.source}


def _to_cells(entry: MemoryEntry) -> list[str]:
    trusted = "yes" if entry.is_trusted else "no"
    return [
        entry.id,
        format_time(entry.created_at),
        entry.category,
        trusted,
        to_single_line(entry.text, SHOWN_CHARACTERS),
    ]


def _chunk_to_cells(chunk: FileChunk) -> list[str]:
    return [chunk.id, "", "note", "yes" if chunk.is_trusted else "no", to_single_line(chunk.text, SHOWN_CHARACTERS)]
