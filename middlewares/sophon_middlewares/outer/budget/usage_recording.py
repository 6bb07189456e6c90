"""Recording of a turn's usage: what was counted while no limit needed it in the store is handed over at the end."""

import logging

import anyio

from sophon.context import Context
from sophon.failure_log import log_failure
from sophon.turn.usage_rows import usage_rows

log = logging.getLogger("sophon")


async def record_usage(ctx: Context) -> None:
    """Hand the usage that the store does not have over to the turn log; a suspended turn keeps it in its state.

    Raises StoreError, and then the turn still has it.
    """
    unrecorded = ctx.tally.unrecorded
    if unrecorded and (ctx.response is None or ctx.response.finish_reason != "suspended"):
        await _hand_over(ctx)


async def record_usage_of_failed_turn(ctx: Context) -> None:
    """Hand the usage over also if the turn is cancelled; an error of the store is logged, because another one counts.

    The store completes a write even if its caller is cancelled.
    """
    if not ctx.tally.unrecorded:
        return
    try:
        with anyio.CancelScope(shield=True):
            await _hand_over(ctx)
    except Exception as error:  # noqa: BLE001 - logged; the error that ended the turn is raised
        log_failure(log, error, "the usage of run %s could not be recorded", ctx.run_id)


async def _hand_over(ctx: Context) -> None:
    services, unrecorded = ctx.services, ctx.tally.unrecorded
    await services.turn_log.record_usage(ctx, usage_rows(unrecorded, ctx.session_id, ctx.run_id, services.clock.now()))
    unrecorded.clear()
