"""`sophon mcp add` and `remove`: MCP servers in the settings file, after a trial of the connection."""

import json
import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from sophon.composition.setting_references import find_taken_tool_prefixes
from sophon.errors import InputError, NotFound, SettingsError
from sophon.risk import Risk
from sophon.settings import Settings
from sophon_hosting.cli.bootstrap import load_cli_settings, run_with_store
from sophon_hosting.cli.common_options import JsonOption
from sophon_hosting.cli.console.confirmation import YesOption, confirm
from sophon_hosting.cli.console.output import write_lines, write_notice, write_result, write_table
from sophon_hosting.cli.global_options import GlobalOptions
from sophon_hosting.cli.settings_file import change_settings_file, find_key, find_settings_file
from sophon_hosting.features.mcp.results import mcp_server_to_json
from sophon_hosting.features.mcp.settings import McpServerSettings, McpSettings
from sophon_hosting.store.contract import HostStore

if TYPE_CHECKING:
    from sophon_hosting.features.mcp.client.server_trial import ServerTrial

ID_FORMAT: Final = "up to 32 of a-z, 0-9, _ and -"
SECRET_FORMAT: Final = "NAME=env:VARIABLE or NAME=file:PATH"  # noqa: S105 - the form of a reference

IdArgument = Annotated[str, typer.Argument(metavar="ID", help=f"Id of the server: {ID_FORMAT}.")]
CommandArgument = Annotated[
    list[str] | None, typer.Argument(metavar="[-- COMMAND [ARG]...]", help="Program of a server over stdio.")
]
ServerUrlOption = Annotated[
    str | None, typer.Option("--url", metavar="URL", help="URL of a server over streamable HTTP.")
]
HeaderOption = Annotated[
    list[str] | None, typer.Option("--header", metavar="NAME=SECRET", help=f"Header of each request: {SECRET_FORMAT}.")
]
EnvOption = Annotated[
    list[str] | None, typer.Option("--env", metavar="NAME=SECRET", help=f"Variable of the program: {SECRET_FORMAT}.")
]
SandboxOption = Annotated[
    str | None, typer.Option("--sandbox", metavar="MODE", help="Sandbox of the program: Off, Offline or Network.")
]
ReadOnlyOption = Annotated[
    list[str] | None,
    typer.Option("--read-only", metavar="TOOL", help="Tool of which you know that it only reads; `*` stands for any."),
]
RESTART_NOTE: Final = "A running host uses it after its next start."


def add(
    ctx: typer.Context,
    server: IdArgument,
    command: CommandArgument = None,
    url: ServerUrlOption = None,
    header: HeaderOption = None,
    env: EnvOption = None,
    sandbox: SandboxOption = None,
    read_only: ReadOnlyOption = None,
    yes: YesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Connect to an MCP server, show its tools and their risk, and write it into the settings file.

    The definitions that are shown are the accepted ones.
    """
    options: GlobalOptions = ctx.obj
    entry = build_entry(server, command or [], url, header or [], env or [], sandbox)
    entry |= {"ReadOnly": read_only} if read_only else {}
    settings, chosen = _validate(options, entry)
    trial = run_with_store(options, lambda _: _try(chosen, settings, options))
    if not as_json:
        _show(trial)
    confirm(f"Add {server} with these tools?", yes=yes, otherwise="nothing was added")
    file = find_settings_file(options)
    change_settings_file(file, lambda root: _append(root, entry))
    run_with_store(options, lambda store: _accept(store, server, trial))
    write_result(mcp_server_to_json(trial.status), [f"{server} was added to {file}. {RESTART_NOTE}"], as_json=as_json)


def remove(ctx: typer.Context, server: IdArgument) -> None:
    """Remove an MCP server from the settings file, and forget which of its definitions were accepted."""
    options: GlobalOptions = ctx.obj
    file = find_settings_file(options)
    load_cli_settings(options)  # a file that is not valid is not changed
    change_settings_file(file, lambda root: _take_out(root, server))
    run_with_store(options, lambda store: _forget(store, server))
    write_lines([f"{server} was removed from {file}. A running host uses it until it is restarted."])


def build_entry(
    server: str,
    command: Sequence[str],
    url: str | None,
    headers: Sequence[str],
    env: Sequence[str],
    sandbox: str | None,
) -> dict[str, Any]:
    """Return the entry of the settings. Raises BadParameter for wrong input. Pure."""
    if re.fullmatch(r"[a-z0-9_-]{1,32}", server) is None:
        raise typer.BadParameter(f"{server!r} is no id of a server: {ID_FORMAT}")
    if bool(command) is (url is not None):
        raise typer.BadParameter("give either --url URL, or a program after --: `sophon mcp add ID -- COMMAND ARGS`")
    entry: dict[str, Any] = {"Id": server}
    if url is not None:
        return entry | {"Url": url} | _named("Headers", headers)
    entry |= {"Command": command[0]} | ({"Args": list(command[1:])} if command[1:] else {})
    return entry | _named("Env", env) | ({"Sandbox": sandbox} if sandbox is not None else {})


def _named(key: str, given: Sequence[str]) -> dict[str, Any]:
    return {key: dict(parse_reference(each) for each in given)} if given else {}


def parse_reference(text: str) -> tuple[str, dict[str, str]]:
    """Return name and reference of a secret. The value itself is refused: a shell would keep it. Pure."""
    found = re.fullmatch(r"([A-Za-z0-9_-]+)=(env|file):(.+)", text)
    if found is None:
        name = text.partition("=")[0][:40]
        raise typer.BadParameter(f"the secret of {name!r} must be a reference: {SECRET_FORMAT}")
    return found[1], {f"${found[2]}": found[3]}


def _validate(options: GlobalOptions, entry: dict[str, Any]) -> tuple[Settings, McpServerSettings]:
    """Return the settings with the server. Raises InputError if its id is in use, BadParameter if it is wrong."""
    settings = load_cli_settings(options)
    if any(each.id == entry["Id"] for each in settings.section(McpSettings).servers):
        raise InputError(f"there is an MCP server {entry['Id']!r} already; remove it first")
    try:
        new = load_cli_settings(options, [f"Mcp.Servers={json.dumps([entry])}"])
    except SettingsError as error:
        raise typer.BadParameter("; ".join(each.replace("Mcp.Servers[0].", "") for each in error.problems)) from None
    if find_taken_tool_prefixes(new, []):
        raise typer.BadParameter(f"names of other tools begin with '{entry['Id']}.'; choose another id")
    return new, new.section(McpSettings).servers[0]


async def _try(server: McpServerSettings, settings: Settings, options: GlobalOptions) -> "ServerTrial":
    from sophon_hosting.features.mcp.client.server_trial import try_server  # lazy: no other command needs MCP

    return await try_server(server, settings, os.environ, options.settings_folder)


async def _accept(store: HostStore, server: str, trial: "ServerTrial") -> None:
    from sophon_hosting.features.mcp.client.accepted_tools import AcceptedTools  # lazy, as above

    await AcceptedTools(store.channel_state).save(server, trial.digests)


async def _forget(store: HostStore, server: str) -> None:
    from sophon_hosting.features.mcp.client.accepted_tools import AcceptedTools  # lazy, as above

    await AcceptedTools(store.channel_state).forget(server)


def _show(trial: "ServerTrial") -> None:
    status = trial.status
    write_lines([f"{status.id}: {status.software or 'no name'}, protocol {status.protocol}"])
    rows = [(f"{status.id}.{each.name}", each.risk, _first_line(each.description)) for each in status.tools]
    if rows:
        write_table(("tool", "risk", "description"), rows)
    if any(each.risk == Risk.HIGH.label and not each.reason for each in status.tools):
        write_notice("each call of a tool of high risk asks a person; name those that only read with --read-only")
    for each in status.tools:
        if each.reason:
            write_notice(f"{status.id}.{each.name}: {each.reason}")


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0][:100]


def _append(root: dict[str, Any], entry: dict[str, Any]) -> None:
    section = root.setdefault(find_key(root, "Mcp"), {})
    section.setdefault(find_key(section, "Servers"), []).append(entry)


def _take_out(root: dict[str, Any], server: str) -> None:
    section = root.get(find_key(root, "Mcp"), {})
    servers = section.get(find_key(section, "Servers"), [])
    kept = [each for each in servers if each.get(find_key(each, "Id")) != server]
    if len(kept) == len(servers):
        raise NotFound("MCP server", server, [str(each.get(find_key(each, "Id"))) for each in servers][:5])
    section[find_key(section, "Servers")] = kept
