"""Graceful shutdown of `serve` and `worker`: the first signal drains the host, the second one exits at once."""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress

from sophon.clock import Clock
from sophon.errors import StoreError
from sophon_hosting.cli.console.output import write_notice
from sophon_hosting.host import Host
from sophon_hosting.shutdown import SHUTDOWN_GRACE_SECONDS
from sophon_hosting.store_lease import StoreLease

log = logging.getLogger("sophon")

SHUTDOWN_SIGNALS = (signal.SIGINT, signal.SIGTERM)
HANGUP_SIGNAL = signal.SIGHUP
"""Sent when the terminal is closed; handled as the others unless it is ignored (`nohup`)."""

LAST_SECONDS = 2.0
"""Time that cancelled tasks have to end, once all is closed."""

LOCK_RENEWAL_SECONDS = 10.0
"""Interval between two renewals of the lock on the store."""


def run_until_stopped(
    open_services: Callable[[], Awaitable[None]],
    close_services: Callable[[float], Awaitable[None]],
    host: Host,
    lock: StoreLease,
) -> int:
    """Open, wait for a signal, close gracefully, and return the exit code.

    `close_services` receives the grace period for running turns in seconds. A second signal exits at once with 128 +
    its number; the next start recovers the unfinished turns, as after a kill. Raises StoreError, without a grace
    period, when another process has acquired the lock of the store.
    """
    return asyncio.run(_run(open_services, close_services, host, lock))


async def _run(
    opened: Callable[[], Awaitable[None]], close: Callable[[float], Awaitable[None]], host: Host, lock: StoreLease
) -> int:
    loop = asyncio.get_running_loop()
    stop_requested: asyncio.Future[None] = loop.create_future()

    def on_signal(number: int) -> None:
        if stop_requested.done():
            sys.stderr.flush()
            os._exit(128 + number)
        stop_requested.set_result(None)

    for number in (*SHUTDOWN_SIGNALS, *([HANGUP_SIGNAL] if signal.getsignal(HANGUP_SIGNAL) is signal.SIG_DFL else [])):
        loop.add_signal_handler(number, on_signal, number)
    renewal = loop.create_task(_renew_lock(lock, host.services.clock, stop_requested))
    grace_seconds = host.services.settings.agent_execution.shutdown_grace.total_seconds()
    try:
        await opened()
        await stop_requested
        _report(shutdown_notice(host.running_turns, grace_seconds))
    except StoreError:
        grace_seconds = 0.0  # another host works on the store: continuing would run turns twice
        raise
    finally:
        renewal.cancel()
        await close(grace_seconds)
        await _leave_tasks()
    return 0


async def _leave_tasks() -> None:
    """Cancel what still runs, and let the loop end without those that swallow it: `asyncio.run` would wait for ever."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    if tasks:
        _, left = await asyncio.wait(tasks, timeout=LAST_SECONDS)
        for task in left:
            asyncio._unregister_task(task)  # pyright: ignore - documented for extensions of asyncio


async def _renew_lock(lock: StoreLease, clock: Clock, stop_requested: "asyncio.Future[None]") -> None:
    while True:
        await clock.sleep(LOCK_RENEWAL_SECONDS)
        try:
            await asyncio.to_thread(lock.renew)
        except StoreError as error:
            if not stop_requested.done():
                stop_requested.set_exception(error)
            return


def shutdown_notice(running_turns: int, grace_seconds: float = SHUTDOWN_GRACE_SECONDS) -> str:
    """Return the notice for the start of a shutdown with `running_turns` turns in flight."""
    if not running_turns:
        return "stopping"
    turns = "1 turn" if running_turns == 1 else f"{running_turns} turns"
    return (
        f"stopping: {turns} may take up to {grace_seconds:g} s to end; "
        "a second signal exits at once, and another process or the next start resumes them"
    )


def _report(line: str) -> None:
    """Write a notice to a terminal; without one write it to the log, whose format must stay machine-readable."""
    if sys.stderr.isatty():
        with suppress(OSError):  # the terminal was closed
            write_notice(line)
    else:
        log.warning(line)
