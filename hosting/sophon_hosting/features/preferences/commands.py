"""`sophon preferences`: show and change how a person wants to be answered. A host may run."""

from typing import Annotated

import typer

from sophon.errors import InputError
from sophon.preferences import NO_PREFERENCES, PREFERENCE_NAMES, Preferences, describe_preferences
from sophon.principals import LOCAL_USER
from sophon_hosting.cli.bootstrap import create_services, load_cli_settings, run_with_store
from sophon_hosting.cli.common_options import JsonOption
from sophon_hosting.cli.console.output import write_lines, write_notice, write_result
from sophon_hosting.features.persons.forgetting import check_person
from sophon_hosting.settings.hub import HubSettings
from sophon_hosting.store.contract import HostStore

PersonOption = Annotated[str, typer.Option("--person", metavar="ID", help="Whose: ada, telegram:5; you by default.")]

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.callback(invoke_without_command=True)
def preferences(ctx: typer.Context, person: PersonOption = LOCAL_USER, as_json: JsonOption = False) -> None:
    """Show and change how a person wants to be answered."""
    if ctx.invoked_subcommand is None:
        show(ctx, person, as_json)
    elif as_json or person != LOCAL_USER:
        raise typer.BadParameter(f"give --person and --json after {ctx.invoked_subcommand}")


@app.command()
def show(ctx: typer.Context, person: PersonOption = LOCAL_USER, as_json: JsonOption = False) -> None:
    """Show the preferences of a person."""
    _check(person)
    found = run_with_store(ctx.obj, lambda store: store.preferences.get(person))
    write_result(found.to_json(), describe_preferences(found) or ["There are no preferences."], as_json=as_json)


@app.command("set")
def set_preference(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help=f"One of {', '.join(PREFERENCE_NAMES)}.")],
    value: Annotated[str, typer.Argument(metavar="VALUE", help="The new value.")],
    person: PersonOption = LOCAL_USER,
) -> None:
    """Set one preference."""
    _check(person)
    try:
        NO_PREFERENCES.change(name, value)
    except InputError as error:
        raise typer.BadParameter(str(error)) from None
    if name == "model" and value:
        create_services(ctx.obj, load_cli_settings(ctx.obj)).gateway.find(value)  # raises NotFound

    async def change(store: HostStore) -> Preferences:
        changed = (await store.preferences.get(person)).change(name, value)
        await store.preferences.put(person, changed)
        return changed

    write_lines(describe_preferences(run_with_store(ctx.obj, change)) or ["There are no preferences."])
    users = [user.id for user in load_cli_settings(ctx.obj).section(HubSettings).users]
    if person == LOCAL_USER and users:
        write_notice(
            f"this is for `sophon chat` on this machine; for a user of the host: --person {' or '.join(users)}"
        )


@app.command()
def clear(
    ctx: typer.Context,
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="All of them by default.")] = None,
    person: PersonOption = LOCAL_USER,
) -> None:
    """Take back one preference, or all."""
    _check(person)
    if name is not None and name not in PREFERENCE_NAMES:
        raise typer.BadParameter(f"there is no preference {name!r}; there are {', '.join(PREFERENCE_NAMES)}")

    async def change(store: HostStore) -> Preferences:
        current = await store.preferences.get(person)
        changed = NO_PREFERENCES if name is None else current.change(name, "")
        await store.preferences.put(person, changed)
        return changed

    write_lines(describe_preferences(run_with_store(ctx.obj, change)) or ["There are no preferences."])


def _check(person: str) -> None:
    try:
        check_person(person)
    except InputError as error:
        raise typer.BadParameter(str(error)) from None
