"""Retry of writes that an unavailable store did not take, until it takes them or the process stops."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

from sophon.errors import StoreUnavailable
from sophon.services import Services
from sophon_hosting.runs.active_runs import ActiveRun

T = TypeVar("T")

INITIAL_BACKOFF_SECONDS = 0.25
MAX_BACKOFF_SECONDS = 8.0
"""Back-off before a write, or a run without an outcome, is tried again; as for providers (reference/sophon.md)."""


async def write_until_stored(services: Services, active_run: ActiveRun, write: Callable[[], Awaitable[T]]) -> T:
    """Repeat a write until the store takes it; a shutdown interrupts the wait between two attempts."""
    backoff_seconds = INITIAL_BACKOFF_SECONDS
    while True:
        try:
            return await write()
        except StoreUnavailable:
            await _wait(active_run, services.store.health.wait_until_writable)
            await _wait(active_run, partial(services.clock.sleep, backoff_seconds))
        backoff_seconds = min(backoff_seconds * 2, MAX_BACKOFF_SECONDS)


async def _wait(active_run: ActiveRun, wait: Callable[[], Awaitable[None]]) -> None:
    if active_run.is_interrupted:  # during the write: nobody cancels the wait
        raise asyncio.CancelledError
    active_run.is_waiting_for_store = True
    try:
        await wait()
    finally:
        active_run.is_waiting_for_store = False
