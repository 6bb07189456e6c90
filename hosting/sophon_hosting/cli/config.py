"""`sophon config`: what is in force, what is wrong with it, and what could be set."""

from typing import Annotated

import typer

from sophon.errors import SettingsError
from sophon.settings import settings_schema
from sophon.settings import show as shown
from sophon_hosting.cli.arguments import GlobalOptions
from sophon_hosting.cli.screen import write_json, write_lines
from sophon_hosting.cli.start import settings_of

JsonAnyway = Annotated[bool, typer.Option("--json", help="It is JSON anyway.")]

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.callback()
def config() -> None:
    """Show, check and describe the settings."""


@app.command()
def show(ctx: typer.Context, as_json: JsonAnyway = False) -> None:
    """Show what is in force, from all places; secrets stay hidden."""
    write_json({"Sophon": shown(settings_of(ctx.obj))})


@app.command()
def validate(ctx: typer.Context, as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False) -> None:
    """Say all that is wrong with the settings; exit 1 if anything is."""
    options: GlobalOptions = ctx.obj
    problems: list[str] = []
    try:
        settings_of(options)
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
def schema(as_json: JsonAnyway = False) -> None:
    """Show the JSON Schema of appsettings.json, for editors."""
    write_json(settings_schema())
