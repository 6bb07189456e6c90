"""Check of `sophon doctor` on the store: it can be opened, written and read, is intact, and has free space."""

from sophon.errors import SophonError
from sophon.security import describe_error
from sophon.services import Services
from sophon.stores.health import RESERVE_BYTES
from sophon_hosting.programs.doctor.findings import DoctorFinding, failed, ok, warning
from sophon_hosting.rendering.value_formatting import format_bytes
from sophon_hosting.store.contract import host_store

DAMAGE_FIX = (
    "stop the host and restore a backup, or save what can be read with `sqlite3 FILE .recover`; see docs/operations.md"
)
LOW_SPACE_BYTES = 16 * RESERVE_BYTES
"""Free space below which `sophon doctor` warns."""

PROBE_ID = "sophon-doctor"
"""Id of the session, run and call of a journal entry that is written to the store as a test, and deleted again."""


async def check_store(services: Services) -> DoctorFinding:
    """Check that the store can be opened, written and read."""
    url = services.settings.store.url
    try:
        damage = await host_store(services).maintenance.find_damage()
        if damage:
            more = f"; and {len(damage) - 5} more" if len(damage) > 5 else ""
            return failed("store", f"{url} is damaged: {'; '.join(damage[:5])}{more}", DAMAGE_FIX)
        await services.open()
        journal = host_store(services).journal
        await journal.start(PROBE_ID, PROBE_ID, PROBE_ID)
        is_stored = PROBE_ID in await journal.load_entries(PROBE_ID)
        await journal.delete(PROBE_ID)
    except SophonError as error:
        return failed("store", str(error), "correct Store.Url, or give the host another store")
    except Exception as error:  # noqa: BLE001 - a check never raises
        return failed("store", f"{url}: {describe_error(error)}", "repair the store at that address")
    if not is_stored:
        return failed("store", f"{url} does not store what is written", "choose another Store.Url")
    space = await host_store(services).maintenance.measure_space()
    text = f"{url} is intact, and can be opened, written and read; it uses {format_bytes(space.used_bytes)}"
    if space.free_bytes is None:
        return ok("store", text)
    text += f", {format_bytes(space.free_bytes)} are free"
    if space.free_bytes < LOW_SPACE_BYTES:
        fix = f"free space: below {format_bytes(RESERVE_BYTES)} a host accepts nothing; see docs/operations.md"
        return warning("store", text, fix)
    return ok("store", text)
