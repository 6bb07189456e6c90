"""`sophon config`: show the effective settings, validate them, and print their JSON Schema."""

from typing import Annotated

import typer

from sophon.errors import SettingsError
from sophon.settings import redact_settings as settings_json
from sophon.settings import settings_schema
from sophon_hosting.cli.bootstrap import load_cli_settings
from sophon_hosting.cli.console.output import write_json, write_lines
from sophon_hosting.cli.global_options import GlobalOptions

IgnoredJsonOption = Annotated[bool, typer.Option("--json", help="Accepted and ignored: the output is always JSON.")]

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.callback()
def config() -> None:
    """Show, validate and describe the settings."""


@app.command()
def show(ctx: typer.Context, as_json: IgnoredJsonOption = False) -> None:
    """Show the effective settings from all sources, without secrets."""
    write_json({"Sophon": settings_json(load_cli_settings(ctx.obj))})


@app.command()
def validate(ctx: typer.Context, as_json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False) -> None:
    """Report every problem with the settings; exit 1 if there is one."""
    options: GlobalOptions = ctx.obj
    problems: list[str] = []
    try:
        load_cli_settings(options)
    except SettingsError as error:
        if not as_json:
            raise
        problems = error.problems
    if as_json:
        write_json({"valid": not problems, "problems": problems})
    else:
        write_lines(["The settings are valid."])
    raise typer.Exit(1 if problems else 0)


@app.command()
def schema(as_json: IgnoredJsonOption = False) -> None:
    """Show the JSON Schema of appsettings.json, for editors."""
    write_json(settings_schema())
