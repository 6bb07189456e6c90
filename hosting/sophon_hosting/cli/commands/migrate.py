"""`sophon migrate`: bring the store's schema up to date, and give data of earlier versions to whose it is."""

import asyncio
from contextlib import nullcontext
from typing import Annotated

import typer

from sophon.errors import InputError
from sophon.principals import LOCAL_USER, hub_user_principal
from sophon.settings import Settings
from sophon.stores.maintenance.contract import SchemaVersions
from sophon_hosting.cli.bootstrap import create_store, load_cli_settings
from sophon_hosting.cli.common_options import JsonOption
from sophon_hosting.cli.console.output import write_json, write_lines
from sophon_hosting.cli.global_options import GlobalOptions
from sophon_hosting.cli.server_settings import create_store_lease
from sophon_hosting.migration.plan import MigrationPlan, format_plan, plan_to_json
from sophon_hosting.migration.principal_migration import PrincipalMigration

app = typer.Typer(rich_markup_mode=None, add_completion=False)

EXIT_TO_MIGRATE = 3
"""Exit code of `--check`; 1 and 2 are those of errors and of wrong usage, as of every command."""

ApplyOption = Annotated[bool, typer.Option("--apply", help="Do it; without this option it is only shown.")]
FilesToOption = Annotated[
    str | None,
    typer.Option(
        metavar="USER",
        help="Give the files of which nothing tells whose they are to this user, such as ada, telegram:5.",
    ),
]
SetAsideOption = Annotated[
    bool,
    typer.Option(
        "--set-aside", help="Move what is below principals/ to set-aside/: anybody may have written it earlier."
    ),
]


SchemaOption = Annotated[
    bool,
    typer.Option("--schema", help="Migrate the schema of the store alone; hosts of this version may run."),
]
ForceOption = Annotated[
    bool,
    typer.Option(
        "--force", help="With --schema: although hosts of another version run, which write nothing any more then."
    ),
]
CheckOption = Annotated[
    bool,
    typer.Option(
        "--check",
        help="Only show the versions of the schema; exit 3 if it is to be migrated, 1 if they cannot be read.",
    ),
]


@app.command()
def migrate(
    ctx: typer.Context,
    apply: ApplyOption = False,
    files_to: FilesToOption = None,
    set_aside: SetAsideOption = False,
    schema: SchemaOption = False,
    force: ForceOption = False,
    check: CheckOption = False,
    as_json: JsonOption = False,
) -> None:
    """Show what is to be migrated: the schema of the store, then data of earlier versions, which --apply moves.

    No host may run while --apply moves data.
    """
    options: GlobalOptions = ctx.obj
    settings = load_cli_settings(options)
    if force and not schema:
        raise InputError("--force belongs to --schema; give both")
    if schema and (apply or files_to is not None or set_aside):
        raise InputError("--schema migrates the schema alone; give it without --apply, --files-to and --set-aside")
    recipient = None if files_to is None else find_recipient(settings, files_to)
    # Only shown: the store is not opened, which would migrate its schema.
    versions = None if apply else asyncio.run(_migrate_schema(options, settings, check=not schema, force=force))
    if versions is not None and (schema or check or not versions.is_current):
        _write_versions(versions, as_json=as_json)
        raise typer.Exit(0 if versions.is_current else EXIT_TO_MIGRATE)
    with create_store_lease(options, settings) if apply else nullcontext():
        plan = asyncio.run(_migrate(options, settings, recipient, apply=apply, set_aside=set_aside))
    if as_json:
        write_json(plan_to_json(plan, applied=apply))
    else:
        write_lines(format_plan(plan, applied=apply))


async def _migrate_schema(options: GlobalOptions, settings: Settings, *, check: bool, force: bool) -> SchemaVersions:
    """Migrate the schema unless this is only a check; return the versions afterwards."""
    maintenance = create_store(options, settings).maintenance
    if not check:
        await maintenance.migrate_schema(force=force)
    return await maintenance.read_schema()


def _write_versions(versions: SchemaVersions, *, as_json: bool) -> None:
    if as_json:
        write_json({"stored": versions.stored, "known": versions.known, "is_current": versions.is_current})
        return
    state = "is up to date" if versions.is_current else "is to be migrated: sophon migrate --schema"
    stored = versions.stored or "none"
    write_lines([f"schema of the store: {stored}, of this Sophon: {versions.known or 'none'}; it {state}"])


def find_recipient(settings: Settings, name: str) -> str:
    """Return the principal of a user in Hub.Users, or a person or group of a channel. Raises InputError."""
    users = {user.id for user in settings.hub.users}
    if name in users:
        return hub_user_principal(name)
    if name == LOCAL_USER or ":" not in name:
        known = ", ".join(sorted(users)) or "none"
        raise InputError(f"{name!r} is no user in Hub.Users ({known}) and no person on a channel, such as telegram:5")
    return name


async def _migrate(
    options: GlobalOptions, settings: Settings, files_to: str | None, *, apply: bool, set_aside: bool
) -> MigrationPlan:
    store = create_store(options, settings)
    await store.open()
    try:
        migration = PrincipalMigration(
            store,
            options.settings_folder / settings.tools.files_root,
            [user.id for user in settings.hub.users],
            files_to=files_to,
            set_aside=set_aside,
        )
        return await (migration.apply() if apply else migration.plan())
    finally:
        await store.close()
