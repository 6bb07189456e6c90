"""`sophon doctor`: check this machine and the settings; one line per finding, with a fix for each problem."""

import asyncio
import os
from collections.abc import Iterator, Sequence
from typing import Annotated

import typer

from sophon.clock import SystemClock
from sophon.errors import SettingsError, SophonError
from sophon.processes.sandbox_probe import probe_sandbox
from sophon.services import Services
from sophon.settings import Settings
from sophon_hosting.cli.bootstrap import create_services, load_cli_settings
from sophon_hosting.cli.console.output import write_json, write_lines
from sophon_hosting.cli.doctor.automation_checks import check_agents, check_automation, check_folders
from sophon_hosting.cli.doctor.checks import (
    check_capabilities,
    check_chain,
    check_channels,
    check_clock,
    check_commands,
    check_dangerous_settings,
    check_files_root,
    check_provider_keys,
    check_providers,
    check_python,
    check_settings_files,
    check_store,
    check_terminal,
    check_tools,
    findings_from_settings_error,
)
from sophon_hosting.cli.doctor.embedding_checks import check_embedder
from sophon_hosting.cli.doctor.engine_checks import check_engines
from sophon_hosting.cli.doctor.findings import DoctorFinding, failed, ok
from sophon_hosting.cli.doctor.group_checks import check_processes
from sophon_hosting.cli.doctor.learning_checks import check_learning
from sophon_hosting.cli.doctor.limit_checks import check_prices, check_time_limits
from sophon_hosting.cli.doctor.memory_checks import check_memory_index
from sophon_hosting.cli.doctor.queue_checks import check_queue
from sophon_hosting.cli.doctor.sandbox_checks import (
    check_sandbox,
    check_sandbox_paths,
    check_skill_programs,
    needs_sandbox,
)
from sophon_hosting.cli.doctor.start_checks import check_address, check_start
from sophon_hosting.cli.doctor.vault_checks import check_credentials
from sophon_hosting.cli.global_options import GlobalOptions
from sophon_hosting.rendering.value_formatting import format_count

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command()
def doctor(
    ctx: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON: id, grade, text and fix per finding.")] = False,
) -> None:
    """Check this machine and the settings; exit 1 if a check failed. Calls no model."""
    findings = list(run_checks(ctx.obj))
    failures = sum(finding.grade == "failed" for finding in findings)
    if as_json:
        write_json([finding.to_json() for finding in findings])
    else:
        write_lines(line for finding in findings for line in finding.lines())
        write_lines(["", format_summary(findings)])
    raise typer.Exit(1 if failures else 0)


def format_summary(findings: Sequence[DoctorFinding]) -> str:
    """Return the last line: how many checks failed or warn."""
    failures, warnings = (sum(each.grade == grade for each in findings) for grade in ("failed", "warning"))
    if failures:
        return f"{failures} of {format_count(len(findings), 'check')} failed."
    return f"No check failed; {format_count(warnings, 'warning')}." if warnings else "No problems found."


def run_checks(options: GlobalOptions) -> Iterator[DoctorFinding]:
    """Yield the findings of all checks; stop early if the settings or the services cannot be loaded."""
    yield check_python()
    yield check_terminal()
    yield check_clock(SystemClock())
    files = check_settings_files(options, os.environ)
    yield files
    if files.grade == "failed":
        return
    try:
        settings = load_cli_settings(options)
    except SettingsError as error:
        yield from findings_from_settings_error(error, options, os.environ)
        return
    yield ok("settings", "valid")
    yield from check_dangerous_settings(settings, options, os.environ)
    yield from check_sandbox_paths(settings, options)
    yield from check_provider_keys(settings, os.environ)
    yield from check_credentials(settings, os.environ)
    yield from _check_services(options, settings)


def _check_services(options: GlobalOptions, settings: Settings) -> Iterator[DoctorFinding]:
    try:
        services = create_services(options, settings)
    except SophonError as error:
        for line in str(error).splitlines():
            yield failed("services", line, "correct the setting named in the message")
        return
    yield from check_providers(services, os.environ)
    yield from check_prices(services)
    yield check_time_limits(settings)
    yield check_capabilities(services)
    yield check_embedder(settings.embeddings)
    chain = check_chain(services)
    yield chain
    start = check_start(services, os.environ)  # it adds the tools that only a host has
    yield check_tools(services)
    yield from check_folders(settings, options.settings_folder)
    if (agents := check_agents(services)) is not None:
        yield agents
    yield check_files_root(services)
    yield from check_commands(services)
    yield from check_skill_programs(services)
    if needs_sandbox(services):
        yield from check_sandbox(services, asyncio.run(probe_sandbox(settings.guards.sandbox.program)))
    yield from (each for each in start if each.text != chain.text)
    yield check_address(services, settings, os.environ)
    yield from asyncio.run(_check_store(services))
    if all(each.grade == "ok" for each in start):
        yield from asyncio.run(check_channels(services, os.environ))


async def _check_store(services: Services) -> list[DoctorFinding]:
    try:
        store = await check_store(services)
        if store.grade == "failed":
            return [store, *await _check_engines(services, 1)]
        processes, count = await check_processes(services)
        return [
            store,
            *processes,
            await check_memory_index(services),
            *await check_automation(services),
            *([learning] if (learning := await check_learning(services)) else ()),
            *await _check_engines(services, count),
            *await check_queue(services),
        ]
    finally:
        await services.close()


async def _check_engines(services: Services, processes: int) -> list[DoctorFinding]:
    return await asyncio.to_thread(lambda: list(check_engines(services.settings, os.environ, processes)))
