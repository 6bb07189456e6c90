"""Check of `sophon doctor` on the index of words that finds memory entries."""

from sophon.errors import StoreError
from sophon.services import Services
from sophon.stores.memories.contract import INDEX_IS_MISSING
from sophon_hosting.programs.doctor.findings import DoctorFinding, failed, ok, warning
from sophon_hosting.store.contract import host_store

FIX = "the next search rebuilds it if it notices; `sophon memory reindex` does it now"


async def check_memory_index(services: Services) -> DoctorFinding:
    """Compare the index with the entries. The store must be open."""
    memories = host_store(services).memories
    try:
        damage, count = await memories.find_index_damage(), await memories.count()
    except StoreError as error:
        return failed("memory", str(error), "repair the store")
    if damage == INDEX_IS_MISSING:  # as after an update of a store that had none
        return ok("memory", f"the search index of the memory is built at its first use ({count:,} entries)")
    if damage:
        return warning("memory", f"the search index of the memory is damaged: {damage}", FIX)
    return ok("memory", f"the search index of the memory is intact ({count:,} entries)")
