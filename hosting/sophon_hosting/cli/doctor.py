"""`sophon doctor`: what is there, what is wrong, and the fix in one line each."""

import asyncio
import os
from collections.abc import Iterator
from typing import Annotated

import typer

from sophon.clock import SystemClock
from sophon.errors import SettingsError, SophonError
from sophon.services import Services
from sophon.settings import Settings
from sophon_hosting.cli import checks
from sophon_hosting.cli.arguments import GlobalOptions
from sophon_hosting.cli.findings import Finding
from sophon_hosting.cli.screen import write_json, write_lines
from sophon_hosting.cli.start import services_of, settings_of

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command()
def doctor(
    ctx: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON: id, grade, text and fix of every finding.")] = False,
) -> None:
    """Look at this machine and these settings; exit 1 if anything failed. Asks no model."""
    findings = list(examine(ctx.obj))
    failed = sum(finding.grade == "failed" for finding in findings)
    if as_json:
        write_json([finding.to_json() for finding in findings])
    else:
        write_lines(line for finding in findings for line in finding.lines())
        write_lines(["", f"{failed} of {len(findings)} checks failed." if failed else "Nothing is wrong."])
    raise typer.Exit(1 if failed else 0)


def examine(options: GlobalOptions) -> Iterator[Finding]:
    """All checks, as far as they can be made: without settings or services the rest has no ground to stand on."""
    yield checks.python()
    yield checks.terminal()
    yield checks.clock(SystemClock())
    yield checks.files(options, os.environ)
    try:
        settings = settings_of(options)
    except SettingsError as error:
        yield from checks.wrong_settings(error)
        return
    yield Finding("settings", "valid")
    yield from checks.keys(settings, os.environ)
    yield from _of_services(options, settings)


def _of_services(options: GlobalOptions, settings: Settings) -> Iterator[Finding]:
    try:
        services = services_of(options, settings)
    except SophonError as error:
        for line in str(error).splitlines():
            yield Finding("services", line, "failed", "correct the setting that it names")
        return
    yield from checks.providers(services, os.environ)
    yield checks.chain(services)
    yield checks.tools(services)
    yield checks.files_root(services)
    yield asyncio.run(_store(services))
    yield from asyncio.run(checks.channels(services, os.environ))


async def _store(services: Services) -> Finding:
    try:
        return await checks.store(services)
    finally:
        await services.close()
