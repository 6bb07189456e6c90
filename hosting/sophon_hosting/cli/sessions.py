"""`sessions`: the conversations that the store keeps."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from sophon.clock import SystemClock
from sophon.errors import InputError
from sophon.stores.contracts import SessionRecord, SessionSummary, Store
from sophon_hosting.cli.lines import Lines
from sophon_hosting.cli.records import record_json, summary_json, told
from sophon_hosting.cli.screen import write_json, write_lines, write_table
from sophon_hosting.cli.start import with_store

app = typer.Typer(rich_markup_mode=None, add_completion=False)

SessionId = Annotated[str, typer.Argument(metavar="ID", help="The id of a session; `sophon sessions list` shows them.")]
NewId = Annotated[str | None, typer.Argument(metavar="NEW_ID", help="Id of the copy; one is made up without it.")]
Title = Annotated[str, typer.Argument(metavar="TITLE", help="What it is called from now on.")]
AsJson = Annotated[bool, typer.Option("--json", help="As JSON.")]


@app.callback()
def sessions() -> None:
    """List, show, rename, copy, export and delete conversations."""


@app.command("list")
def list_sessions(ctx: typer.Context, as_json: AsJson = False) -> None:
    """List the sessions, the newest first."""
    found = with_store(ctx.obj, lambda store: store.sessions.list())
    if as_json:
        write_json([summary_json(each) for each in found])
    elif found:
        write_table(("id", "messages#", "last used", "title"), [_cells(each) for each in found])
    else:
        write_lines(["There are no sessions yet; `sophon chat` begins one."])


@app.command()
def show(ctx: typer.Context, session: SessionId, as_json: AsJson = False) -> None:
    """Show a conversation."""
    summary, records = with_store(ctx.obj, lambda store: _read(store, session))
    if as_json:
        write_json(_document(summary, records))
    else:
        write_lines(told(records))


@app.command()
def export(
    ctx: typer.Context,
    session: SessionId,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to a new file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="It is JSON anyway.")] = False,
) -> None:
    """Write everything that is kept of a session, as JSON."""
    document = _document(*with_store(ctx.obj, lambda store: _read(store, session)))
    if output is None:
        write_json(document)
        return
    try:
        with output.open("x", encoding="utf-8") as file:
            json.dump(document, file, indent=2, default=str)
            file.write("\n")
    except FileExistsError:
        raise InputError(f"{output} exists already; choose another name") from None
    except OSError as error:
        raise InputError(f"{output} cannot be written: {error.strerror}") from error


@app.command()
def fork(
    ctx: typer.Context,
    session: SessionId,
    new: NewId = None,
    upto: Annotated[
        int | None, typer.Option(min=1, metavar="SEQ", help="Copy up to this number of the log only.")
    ] = None,
) -> None:
    """Copy a session, whole or in part; prints the new id."""
    name = new or SystemClock().new_id()[:12]
    with_store(ctx.obj, lambda store: store.sessions.fork(session, name, upto=upto))
    write_lines([name])


@app.command()
def rename(ctx: typer.Context, session: SessionId, title: Title) -> None:
    """Give a session a title."""
    with_store(ctx.obj, lambda store: store.sessions.rename(session, title))


@app.command()
def delete(
    ctx: typer.Context,
    session: SessionId,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Forget a session for good; asks first."""
    summary = with_store(ctx.obj, lambda store: store.sessions.get(session))
    if not yes and not _agreed(summary):
        raise InputError("nothing was deleted; answer yes, or say --yes")
    with_store(ctx.obj, lambda store: store.sessions.delete(session))
    write_lines([f"The session {session} is deleted."])


async def _read(store: Store, session: str) -> tuple[SessionSummary, Sequence[SessionRecord]]:
    return await store.sessions.get(session), await store.sessions.records(session)


def _document(summary: SessionSummary, records: Sequence[SessionRecord]) -> dict[str, Any]:
    return {"session": summary_json(summary), "records": [record_json(record) for record in records]}


def _cells(summary: SessionSummary) -> list[str]:
    return [summary.id, str(summary.messages), f"{summary.updated_at:%Y-%m-%d %H:%M}", summary.title]


def _agreed(summary: SessionSummary) -> bool:
    answer = Lines().prompt(f"Delete the session {summary.id} with {summary.messages} messages? (yes/no) ")
    return (answer or "").strip().casefold() in {"y", "yes"}
