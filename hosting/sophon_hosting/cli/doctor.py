"""`sophon doctor`: check this machine and the settings; one line per finding, with a fix for each problem."""

import asyncio
import os
from collections.abc import Iterator
from typing import Annotated

import typer

from sophon.clock import SystemClock
from sophon.errors import SettingsError, SophonError
from sophon.services import Services
from sophon.settings import Settings
from sophon_hosting.cli.arguments import GlobalOptions
from sophon_hosting.cli.checks import (
    chain,
    channels,
    clock,
    files,
    files_root,
    keys,
    providers,
    python,
    store,
    terminal,
    tools,
    wrong_settings,
)
from sophon_hosting.cli.findings import Finding
from sophon_hosting.cli.screen import write_json, write_lines
from sophon_hosting.cli.start import services_of, settings_of

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command()
def doctor(
    ctx: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON: id, grade, text and fix per finding.")] = False,
) -> None:
    """Check this machine and the settings; exit 1 if a check failed. Calls no model."""
    findings = list(examine(ctx.obj))
    failed = sum(finding.grade == "failed" for finding in findings)
    if as_json:
        write_json([finding.to_json() for finding in findings])
    else:
        write_lines(line for finding in findings for line in finding.lines())
        write_lines(["", f"{failed} of {len(findings)} checks failed." if failed else "No problems found."])
    raise typer.Exit(1 if failed else 0)


def examine(options: GlobalOptions) -> Iterator[Finding]:
    """Yield the findings of all checks; stop early if the settings or the services cannot be loaded."""
    yield python()
    yield terminal()
    yield clock(SystemClock())
    yield files(options, os.environ)
    try:
        settings = settings_of(options)
    except SettingsError as error:
        yield from wrong_settings(error)
        return
    yield Finding("settings", "valid")
    yield from keys(settings, os.environ)
    yield from _check_services(options, settings)


def _check_services(options: GlobalOptions, settings: Settings) -> Iterator[Finding]:
    try:
        services = services_of(options, settings)
    except SophonError as error:
        for line in str(error).splitlines():
            yield Finding("services", line, "failed", "correct the setting named in the message")
        return
    yield from providers(services, os.environ)
    yield chain(services)
    yield tools(services)
    yield files_root(services)
    yield asyncio.run(_check_store(services))
    yield from asyncio.run(channels(services, os.environ))


async def _check_store(services: Services) -> Finding:
    try:
        return await store(services)
    finally:
        await services.close()
