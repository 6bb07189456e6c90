"""`sophon config`: show the effective settings, validate them, and print their JSON Schema."""

import os

import typer

from sophon.errors import NotFound, SettingsError, SophonError, StoreError
from sophon.settings import Settings, settings_schema
from sophon.settings import redact_settings as settings_json
from sophon.settings.loader import load_valid_part
from sophon.settings.settings_secrets import find_unresolved_secrets
from sophon_hosting.cli.bootstrap import create_services, load_cli_settings
from sophon_hosting.cli.common_options import IgnoredJsonOption, JsonOption, command_group
from sophon_hosting.cli.console.output import write_json, write_lines
from sophon_hosting.cli.error_reporting import configure_cli_logging
from sophon_hosting.cli.global_options import GlobalOptions
from sophon_hosting.cli.settings_warnings import (
    find_missing,
    find_settings_warnings,
    missing_lines,
    warning_lines,
)
from sophon_hosting.dangerous_settings.catalog import DangerousSetting
from sophon_hosting.host_chain import build_pipelines
from sophon_hosting.queue.queue_factory import check_backend
from sophon_hosting.settings.queue import QueueSettings

app = command_group("Show, validate and describe the settings.")


@app.command()
def show(ctx: typer.Context, as_json: IgnoredJsonOption = False) -> None:
    """Show the effective settings from all sources, without secrets.

    The constants of the chain are among them. Those that are invalid are named instead, and the command exits with 1.
    """
    options: GlobalOptions = ctx.obj
    configure_cli_logging(debug=options.debug)
    settings, problems = load_valid_part(
        folder=options.settings_folder,
        file=options.settings_file,
        environment=os.environ,
        overrides=options.overrides,
    )
    from sophon_middlewares.chains.chain_settings import complete_for_chain  # lazy: it imports the stages

    write_json({"Sophon": settings_json(complete_for_chain(settings))})
    if problems:
        raise SettingsError([*dict.fromkeys(problems)])  # a missing library is found by both


@app.command()
def validate(ctx: typer.Context, as_json: JsonOption = False) -> None:
    """Report every problem, exit 1 if there is one, and every danger. Secrets are looked up, and never shown.

    Problems of what the settings name are among them, and each secret whose variable or file is missing.
    """
    options: GlobalOptions = ctx.obj
    problems: list[str] = []
    warnings: list[DangerousSetting] = []
    missing: list[str] = []
    try:
        settings = load_cli_settings(options)
        warnings = find_settings_warnings(settings, options, os.environ)
        missing = find_missing(settings, options, os.environ)
        # A host starts without a secret of the vault: that is a warning.
        unresolved = find_unresolved_secrets(settings, os.environ)
        problems = [each for each in unresolved if not each.startswith("Vault.")]
        check_composition(options, settings)
    except SettingsError as error:
        # Of a setting that both name, the composition says more.
        known = {each.partition(":")[0] for each in error.problems}
        problems = [*error.problems, *(each for each in problems if not each.startswith(tuple(known)))]
    if problems and not as_json:
        raise SettingsError(problems)
    if as_json:
        write_json({"valid": not problems, "problems": problems, "warnings": [*map(str, warnings), *missing]})
    else:
        write_lines(["The settings are valid.", *warning_lines(warnings), *missing_lines(missing)])
    raise typer.Exit(1 if problems else 0)


def check_composition(options: GlobalOptions, settings: Settings) -> None:
    """Check what the settings name, and whether a host would start: create its server as `serve` does; opens nothing.

    Raises SettingsError with every problem.
    """
    from sophon_hosting.host_server import HostServer  # lazy: the other commands of this file start no host

    problems: list[str] = []
    try:
        services = create_services(options, settings)
        build_pipelines(services)
        HostServer(services, os.environ)
    except SettingsError as error:
        problems += error.problems
    except StoreError as error:
        problems.append(f"Store.Url: {error}")
    except NotFound as error:
        problems.append(f"Chain.Name: {error}")
    except SophonError as error:
        problems.append(str(error))
    try:
        check_backend(settings.section(QueueSettings).backend)
    except SettingsError as error:
        problems += error.problems
    if problems:
        raise SettingsError([*dict.fromkeys(problems)])  # a missing library is found by both


@app.command()
def schema(as_json: IgnoredJsonOption = False) -> None:
    """Show the JSON Schema of appsettings.json, for editors."""
    write_json(settings_schema())
