"""`sophon pairing`: list pairing requests from channels, approve and revoke them, unlink ids."""

import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Annotated

import typer

from sophon.clock import SystemClock
from sophon.errors import SophonError
from sophon.services import Services
from sophon.settings import Settings
from sophon_channels.contract import OutboundMessage
from sophon_hosting.channels.channel_factory import create_channels
from sophon_hosting.channels.outbound.message_entries import build_entries
from sophon_hosting.channels.pairing import PAIRED_MESSAGE, PairingRequest, PairingService
from sophon_hosting.cli.bootstrap import create_services, load_cli_settings, run_with_store
from sophon_hosting.cli.common_options import JsonOption, command_group
from sophon_hosting.cli.console.output import write_lines, write_result
from sophon_hosting.cli.global_options import GlobalOptions
from sophon_hosting.cli.remote.host_selection import connect_client, find_access_token, find_running_host
from sophon_hosting.features.queue.operations import wake_outbox
from sophon_hosting.rendering.control_characters import to_single_line
from sophon_hosting.store.contract import HostStore

app = command_group("List pairing requests from channels, approve and revoke them, unlink ids.")

NAME_CHARACTERS = 60


@app.command("list")
def list_pairing(ctx: typer.Context, as_json: JsonOption = False) -> None:
    """List pending requests with their codes, approved users, and the linked ids of users who have several."""
    found = _run(ctx.obj, lambda pairing: pairing.list_requests())
    lines = [*map(_request_line, found)] or ["There are no pairing requests and no paired users."]
    write_result([*map(_request_json, found)], lines, as_json=as_json)


@app.command()
def approve(
    ctx: typer.Context, code: Annotated[str, typer.Argument(metavar="CODE", help="The code that the user received.")]
) -> None:
    """Approve a request: the user may write from now on."""
    settings = load_cli_settings(ctx.obj)

    async def work(store: HostStore) -> PairingRequest:
        request = await PairingService(store, SystemClock()).approve(code)
        await _add_confirmation(create_services(ctx.obj, settings), store, request)
        return request

    request = run_with_store(ctx.obj, work)
    _wake_running_host(ctx.obj, settings)
    write_lines([f"{_user_text(request)} is paired and may write"])


@app.command()
def revoke(
    ctx: typer.Context, person: Annotated[str, typer.Argument(metavar="ID", help="The id of the user, from `list`.")]
) -> None:
    """Revoke a pairing: the user may no longer write."""
    revoked = _run(ctx.obj, lambda pairing: pairing.revoke(person))
    write_lines(f"{_user_text(each)} may no longer write" for each in revoked)


@app.command()
def unlink(
    ctx: typer.Context,
    platform_id: Annotated[str, typer.Argument(metavar="ID", help="A linked phone number or user id, from `list`.")],
) -> None:
    """Unlink a phone number or user id from its person: it belongs to whoever writes with it next."""
    unlinked = _run(ctx.obj, lambda pairing: pairing.unlink(platform_id))
    write_lines(f"{_user_text(each)} belongs to whoever writes with it next" for each in unlinked)


def _run(
    options: GlobalOptions, work: Callable[[PairingService], Awaitable[list[PairingRequest]]]
) -> list[PairingRequest]:
    return run_with_store(options, lambda store: work(PairingService(store, SystemClock())))


async def _add_confirmation(services: Services, store: HostStore, request: PairingRequest) -> None:
    """Add the confirmation to the outbox; a running host, or the next one, sends it to the user."""
    for each in create_channels(services, os.environ):
        if each.channel.name == request.channel and request.chat:
            name = f"paired:{request.channel}:{request.person_id}:{request.code}"
            await store.outbox.add(
                build_entries(each.channel, request.chat, name, OutboundMessage(PAIRED_MESSAGE, is_markdown=False))
            )


def _request_line(request: PairingRequest) -> str:
    if request.is_paired:
        return f"paired   {_user_text(request)}{_linked_ids_text(request)}"
    if not request.code:
        return f"linked   {_user_text(request)}{_linked_ids_text(request)}"
    until = f", until {request.expires_at:%H:%M} UTC" if request.expires_at else ""
    return f"waiting  {_user_text(request)}, code {request.code}{until}"


def _linked_ids_text(request: PairingRequest) -> str:
    ids = [("number", request.number), ("user id", request.user_id)]
    return "".join(f", {label} {to_single_line(value, NAME_CHARACTERS)}" for label, value in ids if value)


def _status(request: PairingRequest) -> str:
    if request.is_paired:
        return "paired"
    return "waiting" if request.code else "linked"


def _user_text(request: PairingRequest) -> str:
    name = f" ({to_single_line(request.name, NAME_CHARACTERS)})" if request.name else ""
    return f"{request.channel}:{request.person_id}{name}"


def _request_json(request: PairingRequest) -> dict[str, object]:
    return {
        "channel": request.channel,
        "account": request.account,
        "person": request.person_id,
        "name": request.name,
        "status": _status(request),
        "number": request.number or None,
        "user_id": request.user_id or None,
        "code": request.code or None,
        "expires_at": request.expires_at.isoformat() if request.expires_at else None,
    }


def _wake_running_host(options: GlobalOptions, settings: Settings) -> None:
    """Have the running host of the settings, if any, send at once what this command has stored in the outbox.

    One that cannot be asked, because it runs elsewhere or this command has no operator's token, finds it by itself.
    """
    with suppress(SophonError):
        address = find_running_host(options, settings)
        connect_client(address, find_access_token(settings, address)).call(wake_outbox)
