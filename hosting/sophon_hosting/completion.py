"""Work that completes even if its caller is cancelled, such as a transaction."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, TypeVar

from sophon.failure_log import log_failure

log = logging.getLogger("sophon")

T = TypeVar("T")


async def complete(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of `work`, which completes even if the caller is cancelled. Raises its errors.

    One that nobody hears any more is logged in a line; after `asyncio.shield` alone, asyncio reports it as an exception
    that was never retrieved, with a traceback.
    """
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        task.add_done_callback(_log_unheard_failure)
        raise


def _log_unheard_failure(work: asyncio.Future[Any]) -> None:
    if not work.cancelled() and isinstance(error := work.exception(), Exception):
        log_failure(log, error, "a transaction whose caller was cancelled failed")
