"""`sophon audit`: list, verify and export the audit log of tool calls, and audit the settings. A host may run."""

import json
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from sophon.errors import InputError
from sophon.private_files import open_new_private_file
from sophon.risk import Risk
from sophon.security import verify_audit
from sophon.security.audit_chain import AuditEntry
from sophon.security.audit_head import HeadError, sign_head
from sophon.security.capability_levels import LEVELS
from sophon.settings import DangerousSetting
from sophon.stores.audit.contract import AUDIT_KINDS, AuditFilter
from sophon.stores.contract import Store
from sophon_hosting.audit_heads import find_signing_key, load_head, verify_store
from sophon_hosting.cli.bootstrap import load_cli_settings, run_with_store
from sophon_hosting.cli.common_options import JsonOption, command_group
from sophon_hosting.cli.console.output import write_json, write_lines, write_notice, write_result, write_table
from sophon_hosting.cli.global_options import GlobalOptions
from sophon_hosting.cli.settings_warnings import find_settings_warnings
from sophon_hosting.features.guards.results import audit_entry_to_json

DEFAULT_LIMIT = 50
MAX_LIMIT = 1000
EXPORT_PAGE = 1000
"""Entries per read of an export."""

MAX_NUMBER = 2**53
"""Largest number that JSON carries exactly."""

RISKS = tuple(risk.label for risk in Risk)

app = command_group("List, verify and export the audit log of tool calls; find dangerous settings.")


@app.command("list")
def list_entries(
    ctx: typer.Context,
    session: Annotated[str | None, typer.Option(metavar="ID", help="Calls of this session.")] = None,
    chat: Annotated[str | None, typer.Option(metavar="ID", help="Calls of messages from this chat.")] = None,
    principal: Annotated[str | None, typer.Option(metavar="USER", help="Calls for this user.")] = None,
    tool: Annotated[str | None, typer.Option(metavar="NAME", help="Calls of this tool.")] = None,
    capability: Annotated[str | None, typer.Option(metavar="TYPE", help="Calls of this action type.")] = None,
    level: Annotated[
        str | None, typer.Option(metavar="LEVEL", help=f"Calls of tools of this level: {', '.join(LEVELS)}.")
    ] = None,
    risk: Annotated[str | None, typer.Option(metavar="RISK", help="Calls of tools of this risk.")] = None,
    event: Annotated[str | None, typer.Option(metavar="EVENT", help=f"One of {', '.join(AUDIT_KINDS)}.")] = None,
    outcome: Annotated[
        str | None, typer.Option(metavar="OUTCOME", help="Entries with this outcome or verdict.")
    ] = None,
    since: Annotated[str | None, typer.Option(metavar="TIME", help="From this time on, as 2026-01-31T12:00.")] = None,
    until: Annotated[str | None, typer.Option(metavar="TIME", help="Before this time.")] = None,
    before: Annotated[
        int | None, typer.Option(min=1, max=MAX_NUMBER, metavar="NUMBER", help="The page before this entry.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=MAX_LIMIT, metavar="N", help="Entries of a page.")] = DEFAULT_LIMIT,
    as_json: JsonOption = False,
) -> None:
    """List the entries, the newest first. A time without a zone is in UTC."""
    wanted = AuditFilter(
        event=check_choice("event", event, AUDIT_KINDS),
        session_id=session,
        chat=chat,
        principal=principal,
        tool=tool,
        capability=capability,
        capability_level=check_choice("level", level, LEVELS),
        risk=check_choice("risk", risk, RISKS),
        outcome=outcome,
        since=parse_time("since", since),
        until=parse_time("until", until),
    )
    found = run_with_store(ctx.obj, lambda store: store.audit.list_entries(wanted, before=before, limit=limit))
    if as_json:
        write_json([audit_entry_to_json(entry) for entry in found])
        return
    if not found:
        write_lines(["There are no entries."])
        return
    write_table(
        ("number#", "time (UTC)", "event", "tool", "level", "risk", "user", "session", "what"), map(_table_row, found)
    )
    if len(found) == limit:
        write_notice(f"older entries: sophon audit list --before {found[-1].number}")


@app.command()
def verify(
    ctx: typer.Context,
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="An export; the store by default.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Check the hash chain, and its signed head; name the first broken entry and exit 1 if there is one."""
    count, broken, problem = _verify_file(ctx, file) if file is not None else _verify_store(ctx)
    line = f"The chain is broken: {problem}." if problem else f"The chain is intact: {count} entries."
    write_result({"entries": count, "broken": broken, "problem": problem}, [line], as_json=as_json)
    raise typer.Exit(1 if problem else 0)


@app.command()
def export(
    ctx: typer.Context,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to a new file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Accepted and ignored.")] = False,
) -> None:
    """Write all entries as JSON lines, the oldest first; `sophon audit verify FILE` checks them.

    With `Guards.Audit.SigningKey` the signed head of what was written is in FILE.head.
    """
    key = find_signing_key(load_cli_settings(ctx.obj), os.environ)
    if output is None:
        run_with_store(ctx.obj, lambda store: _export(store, sys.stdout.write))
        return
    try:
        with open_new_private_file(output) as file:
            last = run_with_store(ctx.obj, lambda store: _export(store, file.write))
        if key is not None and last is not None:
            with open_new_private_file(_head_file(output)) as head:
                head.write(sign_head(last.number, last.hash, datetime.now(UTC), key))
    except FileExistsError:
        raise InputError(f"{output} exists already; choose another name") from None
    except OSError as error:
        raise InputError(f"{output} cannot be written: {error.strerror}") from error


@app.command("settings")
def audit_settings(ctx: typer.Context, as_json: JsonOption = False) -> None:
    """List the settings that permit more than most people want; exit 1 if one is of high severity."""
    options: GlobalOptions = ctx.obj
    found = find_settings_warnings(load_cli_settings(options), options, os.environ)
    lines = [line for each in found for line in _danger_lines(each)]
    write_result([each.to_json() for each in found], lines or ["No dangerous settings."], as_json=as_json)
    raise typer.Exit(1 if any(each.severity == "high" for each in found) else 0)


def _danger_lines(danger: DangerousSetting) -> list[str]:
    return [f"{danger.severity:<6} {danger.id}", f"       {danger}", f"       fix: {danger.fix}"]


def check_choice(option: str, value: str | None, choices: tuple[str, ...]) -> str | None:
    """Return the value of an option. Raises InputError if it is none of the choices."""
    if value is not None and value not in choices:
        raise InputError(f"--{option} {value!r} is none of {', '.join(choices)}")
    return value


def parse_time(option: str, value: str | None) -> datetime | None:
    """Return the time of an option, in UTC if it names no zone. Raises InputError."""
    if value is None:
        return None
    with suppress(ValueError, OverflowError):
        time = datetime.fromisoformat(value)
        return time.astimezone(UTC) if time.tzinfo is not None else time.replace(tzinfo=UTC)
    raise InputError(f"--{option} {value!r} is no time; write 2026-01-31 or 2026-01-31T12:00")


def _table_row(entry: AuditEntry) -> list[str]:
    fields = entry.fields
    by = f"{fields['guard']} ({fields['rule']}): " if fields["guard"] else ""
    if fields["event"] == "changed" and fields["rule"]:
        by = f"{fields['capability']} {fields['rule']}: "
    verdict = f"{fields['outcome']} " if fields["event"] != "proposed" else ""
    texts = [text for name in ("input", "reason", "output") if (text := entry.texts.get(name)) is not None]
    what = f"{by}{verdict}{' '.join(texts)}"
    cells = (
        fields["event"],
        fields["tool"],
        entry.capability_level,
        fields["risk"],
        fields["principal"],
        fields["session_id"],
        what,
    )
    return [str(entry.number), fields["at"][:19].replace("T", " "), *cells]


async def _export(store: Store, write: Callable[[str], object]) -> AuditEntry | None:
    """Write all entries; return the newest one."""
    number = 0
    last: AuditEntry | None = None
    while page := await store.audit.list_after(number, EXPORT_PAGE):
        for entry in page:
            write(entry.to_line() + "\n")
        last = page[-1]
        number = last.number
    return last


def _verify_store(ctx: typer.Context) -> tuple[int, int | None, str]:
    settings = load_cli_settings(ctx.obj)
    folder = ctx.obj.settings_folder
    found = run_with_store(ctx.obj, lambda store: verify_store(store, settings, folder, os.environ))
    return found.count, found.broken, found.problem


def _head_file(file: Path) -> Path:
    return file.with_name(f"{file.name}.head")


def _check_head_of_export(file: Path, lines: Sequence[str], key: str) -> str:
    """Return what is wrong about the signed head of an intact export; empty if it ends with the entry of its head."""
    last = next((line for line in reversed(lines) if line.strip()), None)
    try:
        head = load_head(_head_file(file), key)
    except HeadError as error:
        return f"{_head_file(file)}: {error}"
    if head is None:
        return f"there is no signed head {_head_file(file)}" if last is not None else ""
    entry = json.loads(last) if last is not None else {"number": 0, "hash": ""}
    if (entry["number"], entry["hash"]) != (head.number, head.hash):
        return f"it ends with the entry {entry['number']}, and {head.number} was signed as the last one"
    return ""


def _verify_file(ctx: typer.Context, file: Path) -> tuple[int, int | None, str]:
    try:
        lines = file.read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{file} is no export: it is not UTF-8") from error
    broken = verify_audit(lines)
    problem = "" if broken is None else f"line {broken} of {file}"
    key = find_signing_key(load_cli_settings(ctx.obj), os.environ)
    if key is not None and not problem:
        problem = _check_head_of_export(file, lines, key)
    return sum(bool(line.strip()) for line in lines), broken, problem
