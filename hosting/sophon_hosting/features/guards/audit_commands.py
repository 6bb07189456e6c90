"""`sophon audit`: list, verify and export the audit log of tool calls, and audit the settings. A host may run."""

import json
import os
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from sophon.errors import InputError
from sophon.security import verify_audit
from sophon.security.audit.audit_chain import AuditEntry
from sophon.security.audit.audit_head import HeadError, sign_head
from sophon.security.authorization.capability_levels import CapabilityLevel
from sophon_hosting.cli.bootstrap import load_cli_settings, run_with_store
from sophon_hosting.cli.common_options import IgnoredJsonOption, JsonOption, OutputOption, command_group
from sophon_hosting.cli.console.output import open_new_file, write_notice, write_result, write_rows
from sophon_hosting.cli.global_options import GlobalOptions
from sophon_hosting.cli.operation_commands import add_command
from sophon_hosting.cli.remote.host_selection import open_store_client
from sophon_hosting.cli.settings_warnings import find_settings_warnings
from sophon_hosting.dangerous_settings.catalog import DangerousSetting
from sophon_hosting.features.guards.audit_heads import find_signing_key, load_head
from sophon_hosting.features.guards.audit_operations import list_audit, verify_audit_log
from sophon_hosting.features.guards.results import AuditEntryView, AuditVerificationView
from sophon_hosting.operations.client import Client
from sophon_hosting.rendering.value_formatting import format_time
from sophon_hosting.store.contract import HostStore

COLUMNS = ("number#", "time (UTC)", "event", "tool", "level", "risk", "user", "session", "what")

EXPORT_PAGE = 1000
"""Entries per read of an export."""

app = command_group("List, verify and export the audit log of tool calls; find dangerous settings.")


def _list(client: Client, fields: dict[str, Any], *, as_json: bool) -> None:
    found = client.call(list_audit, **fields)
    items = found["items"]
    write_rows(items, COLUMNS, map(_table_row, items), "There are no entries.", as_json=as_json)
    if found["more"] and not as_json:
        write_notice(f"older entries: sophon audit list --before {items[-1]['number']}")


LEVEL = Annotated[CapabilityLevel | None, typer.Option("--level", help="Calls of tools of this level.")]

add_command(app, list_audit, _list, name="list", options={"capability_level": LEVEL})


@app.command()
def verify(
    ctx: typer.Context,
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="An export; the store by default.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Check the hash chain, and its signed head; name the first broken entry and exit 1 if there is one."""
    options: GlobalOptions = ctx.obj
    found = open_store_client(options).call(verify_audit_log) if file is None else _verify_file(options, file)
    problem = found["problem"]
    line = f"The chain is broken: {problem}." if problem else f"The chain is intact: {found['entries']} entries."
    write_result(found, [line], as_json=as_json)
    raise typer.Exit(1 if problem else 0)


@app.command()
def export(
    ctx: typer.Context,
    output: OutputOption = None,
    as_json: IgnoredJsonOption = False,
) -> None:
    """Write all entries as JSON lines, the oldest first; `sophon audit verify FILE` checks them.

    With `Guards.Audit.SigningKey` the signed head of what was written is in FILE.head.
    """
    key = find_signing_key(load_cli_settings(ctx.obj), os.environ)
    if output is None:
        run_with_store(ctx.obj, lambda store: _export(store, sys.stdout.write))
        return
    with open_new_file(output) as file:
        last = run_with_store(ctx.obj, lambda store: _export(store, file.write))
    if key is not None and last is not None:
        with open_new_file(_head_file(output)) as head:
            head.write(sign_head(last.number, last.hash, datetime.now(UTC), key))


@app.command("settings")
def audit_settings(ctx: typer.Context, as_json: JsonOption = False) -> None:
    """List the settings that permit more than most people want, with severity and fix; exit 1 if one is high."""
    options: GlobalOptions = ctx.obj
    found = find_settings_warnings(load_cli_settings(options), options, os.environ)
    lines = [line for each in found for line in _danger_lines(each)]
    write_result([each.to_json() for each in found], lines or ["No dangerous settings."], as_json=as_json)
    raise typer.Exit(1 if any(each.severity == "high" for each in found) else 0)


def _danger_lines(danger: DangerousSetting) -> list[str]:
    return [f"{danger.severity:<6} {danger.id}", f"       {danger}", f"       fix: {danger.fix}"]


def _table_row(entry: AuditEntryView) -> list[str]:
    by = f"{entry['guard']} ({entry['rule']}): " if entry["guard"] else ""
    if entry["event"] == "changed" and entry["rule"]:
        by = f"{entry['capability']} {entry['rule']}: "
    verdict = f"{entry['outcome']} " if entry["event"] != "proposed" else ""
    texts = [text for text in (entry.get("input"), entry.get("reason"), entry.get("output")) if text is not None]
    what = f"{by}{verdict}{' '.join(texts)}"
    cells = (
        entry["event"],
        entry["tool"],
        entry["capability_level"],
        entry["risk"],
        entry["principal"],
        entry["session_id"],
        what,
    )
    return [str(entry["number"]), format_time(entry["at"]), *cells]


async def _export(store: HostStore, write: Callable[[str], object]) -> AuditEntry | None:
    """Write all entries; return the newest one."""
    number = 0
    last: AuditEntry | None = None
    while page := await store.audit.list_after(number, EXPORT_PAGE):
        for entry in page:
            write(entry.to_line() + "\n")
        last = page[-1]
        number = last.number
    return last


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


def _verify_file(options: GlobalOptions, file: Path) -> AuditVerificationView:
    try:
        lines = file.read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{file} is no export: it is not UTF-8") from error
    broken = verify_audit(lines)
    problem = "" if broken is None else f"line {broken} of {file}"
    key = find_signing_key(load_cli_settings(options), os.environ)
    if key is not None and not problem:
        problem = _check_head_of_export(file, lines, key)
    return {"entries": sum(bool(line.strip()) for line in lines), "broken": broken, "problem": problem}
