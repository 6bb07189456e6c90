"""`sophon migrate`: give data of earlier versions to the principals whose it is."""

import asyncio
from contextlib import nullcontext
from typing import Annotated

import typer

from sophon.errors import InputError
from sophon.principals import LOCAL_USER, hub_user_principal
from sophon.settings import Settings
from sophon_hosting.cli.bootstrap import create_store, load_cli_settings
from sophon_hosting.cli.common_options import JsonOption
from sophon_hosting.cli.console.output import write_json, write_lines
from sophon_hosting.cli.global_options import GlobalOptions
from sophon_hosting.cli.server_settings import create_store_lease
from sophon_hosting.migration.plan import MigrationPlan, format_plan, plan_to_json
from sophon_hosting.migration.principal_migration import PrincipalMigration

app = typer.Typer(rich_markup_mode=None, add_completion=False)

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


@app.command()
def migrate(
    ctx: typer.Context,
    apply: ApplyOption = False,
    files_to: FilesToOption = None,
    set_aside: SetAsideOption = False,
    as_json: JsonOption = False,
) -> None:
    """Show which data of earlier versions moves to which user, and with --apply move it. No host may run then."""
    options: GlobalOptions = ctx.obj
    settings = load_cli_settings(options)
    recipient = None if files_to is None else find_recipient(settings, files_to)
    with create_store_lease(options, settings) if apply else nullcontext():
        plan = asyncio.run(_migrate(options, settings, recipient, apply=apply, set_aside=set_aside))
    if as_json:
        write_json(plan_to_json(plan, applied=apply))
    else:
        write_lines(format_plan(plan, applied=apply))


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
