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
from sophon_hosting.cli.console.output import write_result
from sophon_hosting.cli.global_options import GlobalOptions
from sophon_hosting.programs.doctor import (
    automation_checks,
    backend_checks,
    chain_and_tool_checks,
    channel_checks,
    embedding_checks,
    group_checks,
    http_credential_checks,
    limit_checks,
    machine_checks,
    memory_checks,
    provider_checks,
    queue_checks,
    routing_evidence_checks,
    sandbox_checks,
    settings_checks,
    start_checks,
    store_checks,
)
from sophon_hosting.programs.doctor.findings import DoctorFinding, failed, ok
from sophon_hosting.rendering.value_formatting import format_count

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command()
def doctor(
    ctx: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON: id, grade, text and fix per finding.")] = False,
) -> None:
    """Check this machine and the settings; exit 1 if a check failed. Calls no model.

    Checked are also credentials, the start of a host, its engines (PostgreSQL, Redis, RabbitMQ), queue and live
    processes. Each problem has a fix.
    """
    findings = list(run_checks(ctx.obj))
    failures = sum(finding.grade == "failed" for finding in findings)
    lines = [line for finding in findings for line in finding.lines()]
    write_result([each.to_json() for each in findings], [*lines, "", format_summary(findings)], as_json=as_json)
    raise typer.Exit(1 if failures else 0)


def format_summary(findings: Sequence[DoctorFinding]) -> str:
    """Return the last line: how many checks failed or warn."""
    failures, warnings = (sum(each.grade == grade for each in findings) for grade in ("failed", "warning"))
    if failures:
        return f"{failures} of {format_count(len(findings), 'check')} failed."
    return f"No check failed; {format_count(warnings, 'warning')}." if warnings else "No problems found."


def run_checks(options: GlobalOptions) -> Iterator[DoctorFinding]:
    """Yield the findings of all checks; stop early if the settings or the services cannot be loaded."""
    yield machine_checks.check_python()
    yield machine_checks.check_terminal()
    yield machine_checks.check_clock(SystemClock())
    files = settings_checks.check_settings_files(options, os.environ)
    yield files
    if files.grade == "failed":
        return
    try:
        settings = load_cli_settings(options)
    except SettingsError as error:
        yield from settings_checks.findings_from_settings_error(error, options, os.environ)
        return
    yield ok("settings", "valid")
    yield from settings_checks.check_dangerous_settings(settings, options, os.environ)
    yield from sandbox_checks.check_sandbox_paths(settings, options)
    yield from provider_checks.check_provider_keys(settings, os.environ)
    yield from http_credential_checks.check_credentials(settings, os.environ)
    yield from _check_services(options, settings)


def _check_services(options: GlobalOptions, settings: Settings) -> Iterator[DoctorFinding]:
    try:
        services = create_services(options, settings)
    except SophonError as error:
        for line in str(error).splitlines():
            yield failed("services", line, "correct the setting named in the message")
        return
    yield from provider_checks.check_providers(services, os.environ)
    yield from limit_checks.check_prices(services)
    yield limit_checks.check_time_limits(settings)
    yield provider_checks.check_capabilities(services)
    yield embedding_checks.check_embedder(settings)
    chain = chain_and_tool_checks.check_chain(services)
    yield chain
    start = start_checks.check_start(services, os.environ)  # it adds the tools that only a host has
    yield chain_and_tool_checks.check_tools(services)
    yield from automation_checks.check_folders(settings, options.settings_folder)
    if (agents := automation_checks.check_agents(services)) is not None:
        yield agents
    yield chain_and_tool_checks.check_files_root(services)
    yield from chain_and_tool_checks.check_commands(services)
    yield from sandbox_checks.check_skill_programs(services)
    if sandbox_checks.needs_sandbox(services):
        yield from sandbox_checks.check_sandbox(services, asyncio.run(probe_sandbox(settings.guards.sandbox.program)))
    yield from (each for each in start if each.text != chain.text)
    yield start_checks.check_address(services, settings, os.environ)
    yield from asyncio.run(_check_store(services))
    if all(each.grade == "ok" for each in start):
        yield from asyncio.run(channel_checks.check_channels(services, os.environ))


async def _check_store(services: Services) -> list[DoctorFinding]:
    try:
        store = await store_checks.check_store(services)
        if store.grade == "failed":
            return [store, *await _check_engines(services, 1)]
        processes, count = await group_checks.check_processes(services)
        return [
            store,
            *processes,
            await memory_checks.check_memory_index(services),
            *await automation_checks.check_automation(services),
            *([learning] if (learning := await routing_evidence_checks.check_learning(services)) else ()),
            *await _check_engines(services, count),
            *await queue_checks.check_queue(services),
        ]
    finally:
        await services.close()


async def _check_engines(services: Services, processes: int) -> list[DoctorFinding]:
    return await asyncio.to_thread(lambda: list(backend_checks.check_engines(services.settings, os.environ, processes)))
