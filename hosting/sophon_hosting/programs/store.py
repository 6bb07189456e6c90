"""`sophon store`: check the stored data, delete what is old, and return free space to the disk."""

import asyncio

import typer

from sophon.clock import SystemClock
from sophon.errors import StoreError
from sophon_hosting.cli.bootstrap import create_store, load_cli_settings, run_with_store
from sophon_hosting.cli.common_options import JsonOption, command_group
from sophon_hosting.cli.console.output import write_lines, write_result
from sophon_hosting.cli.global_options import GlobalOptions
from sophon_hosting.cli.server_bootstrap import create_store_lease
from sophon_hosting.rendering.value_formatting import format_bytes
from sophon_hosting.retention import RetentionSweep, format_counts
from sophon_hosting.store.contract import HostStore

app = command_group("Check the store, delete old data, compact it.")


@app.command()
def check(ctx: typer.Context, as_json: JsonOption = False) -> None:
    """Check all stored data for damage and change nothing; exit 1 if there is any."""
    damage = asyncio.run(create_store(ctx.obj, load_cli_settings(ctx.obj)).maintenance.find_damage())
    write_result(damage, damage or ["The store is intact."], as_json=as_json)
    raise typer.Exit(1 if damage else 0)


@app.command()
def prune(ctx: typer.Context, as_json: JsonOption = False) -> None:
    """Delete what is older than Retention allows, as hosts do every hour. Without a host, let cron do it."""
    settings = load_cli_settings(ctx.obj)
    folder = ctx.obj.settings_folder

    async def sweep(store: HostStore) -> dict[str, int]:
        return await RetentionSweep(store, SystemClock(), settings, folder).sweep()

    deleted = run_with_store(ctx.obj, sweep)
    write_result(deleted, [f"deleted: {format_counts(deleted)}"], as_json=as_json)


@app.command()
def vacuum(ctx: typer.Context) -> None:
    """Rewrite the store without free pages. No host may run; needs as much free space as the store uses."""
    options: GlobalOptions = ctx.obj
    with create_store_lease(options, load_cli_settings(options)):
        before, after = asyncio.run(_vacuum(options))
    write_lines([f"{format_bytes(before)} before, {format_bytes(after)} now"])


async def _vacuum(options: GlobalOptions) -> tuple[int, int]:
    """Return the size before and after. A damaged store is left as it is. Raises StoreError."""
    store = create_store(options, load_cli_settings(options))
    damage = await store.maintenance.find_damage()
    if damage:
        raise StoreError("of these settings", f"it is damaged: {damage[0]}; see `sophon store check`")
    await store.open()
    try:
        before = (await store.maintenance.measure_space()).used_bytes
        await store.maintenance.vacuum()
        return before, (await store.maintenance.measure_space()).used_bytes
    finally:
        await store.close()
