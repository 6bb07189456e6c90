"""`sophon migrate`: show whether the schema of the store is up to date, and migrate it."""

import asyncio
from typing import Annotated

import typer

from sophon.errors import InputError
from sophon.settings import Settings
from sophon.stores.maintenance import SchemaVersions
from sophon_hosting.cli.bootstrap import create_store, load_cli_settings
from sophon_hosting.cli.common_options import JsonOption
from sophon_hosting.cli.console.output import write_result
from sophon_hosting.cli.global_options import GlobalOptions

app = typer.Typer(rich_markup_mode=None, add_completion=False)

EXIT_TO_MIGRATE = 3
"""Exit code if the schema is to be migrated; 1 and 2 are those of errors and of wrong usage, as of every command."""

SchemaOption = Annotated[bool, typer.Option("--schema", help="Migrate the schema; hosts of this version may run.")]
ForceOption = Annotated[
    bool,
    typer.Option(
        "--force", help="With --schema: although hosts of another version run, which write nothing any more then."
    ),
]
CheckOption = Annotated[bool, typer.Option("--check", help="Only show the versions, as without an option.")]


@app.command()
def migrate(
    ctx: typer.Context,
    schema: SchemaOption = False,
    force: ForceOption = False,
    check: CheckOption = False,
    as_json: JsonOption = False,
) -> None:
    """Show the version of the store's schema, or migrate it with --schema.

    Exits with 3 if the schema is to be migrated, with 1 if the store cannot be read.
    """
    options: GlobalOptions = ctx.obj
    settings = load_cli_settings(options)
    if force and not schema:
        raise InputError("--force belongs to --schema; give both")
    if check and schema:
        raise InputError("--check changes nothing and --schema migrates; give one of them")
    versions = asyncio.run(_migrate_schema(options, settings, check=not schema, force=force))
    facts = {"stored": versions.stored, "known": versions.known, "is_current": versions.is_current}
    state = "is up to date" if versions.is_current else "is to be migrated: sophon migrate --schema"
    line = f"schema of the store: {versions.stored or 'none'}, of this Sophon: {versions.known or 'none'}; it {state}"
    write_result(facts, [line], as_json=as_json)
    raise typer.Exit(0 if versions.is_current else EXIT_TO_MIGRATE)


async def _migrate_schema(options: GlobalOptions, settings: Settings, *, check: bool, force: bool) -> SchemaVersions:
    """Migrate the schema unless this is only a check; return the versions afterwards."""
    # For a check the store is not opened, which would migrate its schema.
    maintenance = create_store(options, settings).maintenance
    if not check:
        await maintenance.migrate_schema(force=force)
    return await maintenance.read_schema()
