"""Slots in the rate windows of the host: how often an evaluator or a person is asked."""

from sophon.context import Context
from sophon.security.sliding_windows import RateExceeded, RateLimit
from sophon.stores.rate_windows.contract import RateEvent


async def take_slot(ctx: Context, limit: RateLimit) -> bool:
    """Count one event of a limit if it has a free slot; return whether it has.

    A host stores the event with the next transaction of the session. Raises StoreError, and then nothing is counted.
    """
    services = ctx.services
    reserved = await services.security.rate_windows.reserve([limit], services.clock, services.store.rate_windows.load)
    if isinstance(reserved, RateExceeded):
        return False
    with reserved:
        if not reserved.is_stored:
            await services.store.rate_windows.add([RateEvent(limit.scope, services.clock.now())])
        reserved.use(services.clock.monotonic())
    return True
