"""`sophon pairing`: who wants to write from a channel, who may, and who no longer."""

import os
from typing import Annotated

import typer

from sophon.clock import SystemClock
from sophon.stores.contracts import Store
from sophon_channels.contract import Outgoing
from sophon_hosting.channels.configured import channels_of
from sophon_hosting.channels.letters import parts
from sophon_hosting.channels.pairing import PAIRED, Pairing, PairingRequest
from sophon_hosting.cli.arguments import GlobalOptions
from sophon_hosting.cli.screen import write_json, write_lines
from sophon_hosting.cli.start import services_of, settings_of, with_store
from sophon_hosting.cli.tasks import AsJson
from sophon_hosting.cli.visible import on_one_line

app = typer.Typer(rich_markup_mode=None, add_completion=False)

WIDTH = 60


@app.callback()
def pairing() -> None:
    """List who wants to write from a channel, and let them in or not."""


@app.command("list")
def list_pairing(ctx: typer.Context, as_json: AsJson = False) -> None:
    """List those who wait with a code, and those who were let in."""
    found = with_store(ctx.obj, _all)
    if as_json:
        write_json([_json(each) for each in found])
    elif not found:
        write_lines(["Nobody waits, and nobody was let in by a code."])
    else:
        write_lines(_line(each) for each in found)


@app.command()
def approve(
    ctx: typer.Context, code: Annotated[str, typer.Argument(metavar="CODE", help="What the person was given.")]
) -> None:
    """Let somebody write from now on."""

    async def work(store: Store) -> PairingRequest:
        request = await Pairing(store, SystemClock()).approve(code)
        await _greet(ctx.obj, store, request)
        return request

    request = with_store(ctx.obj, work)
    write_lines([f"{_who(request)} may write from now on"])


@app.command()
def revoke(
    ctx: typer.Context, person: Annotated[str, typer.Argument(metavar="ID", help="The person's id, from `list`.")]
) -> None:
    """Let somebody write no more."""

    async def work(store: Store) -> list[PairingRequest]:
        return await Pairing(store, SystemClock()).revoke(person)

    write_lines(f"{_who(each)} may no longer write" for each in with_store(ctx.obj, work))


async def _all(store: Store) -> list[PairingRequest]:
    return await Pairing(store, SystemClock()).all()


async def _greet(options: GlobalOptions, store: Store, request: PairingRequest) -> None:
    """Tell the person, over the host that runs or will."""
    services = services_of(options, settings_of(options))
    for each in channels_of(services, os.environ):
        if each.channel.name == request.channel and request.chat:
            name = f"paired:{request.channel}:{request.person}:{request.code}"
            await store.outbound.add(parts(each.channel, request.chat, name, Outgoing(PAIRED, markdown=False)))


def _line(request: PairingRequest) -> str:
    if request.paired:
        return f"let in   {_who(request)}"
    until = f", until {request.expires_at:%H:%M} UTC" if request.expires_at else ""
    return f"waits    {_who(request)}, code {request.code}{until}"


def _who(request: PairingRequest) -> str:
    name = f" ({on_one_line(request.name, WIDTH)})" if request.name else ""
    return f"{request.channel}:{request.person}{name}"


def _json(request: PairingRequest) -> dict[str, object]:
    return {
        "channel": request.channel,
        "account": request.account,
        "person": request.person,
        "name": request.name,
        "status": "paired" if request.paired else "waiting",
        "code": request.code or None,
        "expires_at": request.expires_at.isoformat() if request.expires_at else None,
    }
