"""Graceful shutdown of `serve` and `worker`: the first signal drains the host, the second one exits at once."""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Annotated

import typer

from sophon.clock import Clock
from sophon.errors import SettingsError, StoreError
from sophon.settings import Settings
from sophon_hosting.cli.arguments import GlobalOptions
from sophon_hosting.cli.screen import note
from sophon_hosting.cli.start import settings_of
from sophon_hosting.host import GRACE_SECONDS, Host
from sophon_hosting.observing.logs import set_up_host_logs
from sophon_hosting.observing.redaction import secrets_of
from sophon_hosting.store_lock import StoreLock

log = logging.getLogger("sophon")

SIGNALS = (signal.SIGINT, signal.SIGTERM)
HANGUP = signal.SIGHUP
"""Sent when the terminal is closed; handled as the others unless it is ignored (`nohup`)."""

RENEW_SECONDS = 10.0
"""Interval between two renewals of the lock on the store."""

LogForm = Annotated[
    str | None, typer.Option("--log", metavar="FORMAT", help="Log as json or text; Logging.Format by default.")
]


def running_settings(options: GlobalOptions, log_form: str | None = None, pairs: tuple[str, ...] = ()) -> Settings:
    """Load the settings of a long-running process and configure its log accordingly. Raises SettingsError."""
    settings = settings_of(options, [*pairs, *([f"Logging.Format={log_form}"] if log_form is not None else [])])
    level = "Debug" if options.debug else settings.logging.level
    set_up_host_logs(level, settings.logging.format, secrets=secrets_of(settings, os.environ))
    return settings


def store_lock_of(options: GlobalOptions, settings: Settings) -> StoreLock:
    """Create the lock of the configured store without acquiring it. Raises SettingsError."""
    url = settings.store.url.resolve(os.environ)
    if url is None:
        raise SettingsError([f"Store.Url: {settings.store.url.origin} is missing or empty"])
    return StoreLock(url, folder=options.folder)


def run_until_stopped(
    opened: Callable[[], Awaitable[None]], close: Callable[[float], Awaitable[None]], host: Host, lock: StoreLock
) -> int:
    """Open, wait for a signal, close gracefully, and return the exit code.

    `close` receives the grace period for running turns in seconds. A second signal exits at once with 128 + its number;
    the next start recovers the unfinished turns, as after a kill. Raises StoreError, without a grace period, when
    another process has acquired the lock of the store.
    """
    return asyncio.run(_run(opened, close, host, lock))


async def _run(
    opened: Callable[[], Awaitable[None]], close: Callable[[float], Awaitable[None]], host: Host, lock: StoreLock
) -> int:
    loop = asyncio.get_running_loop()
    stop_requested: asyncio.Future[None] = loop.create_future()

    def on_signal(number: int) -> None:
        if stop_requested.done():
            sys.stderr.flush()
            os._exit(128 + number)
        stop_requested.set_result(None)

    for number in (*SIGNALS, *([HANGUP] if signal.getsignal(HANGUP) is signal.SIG_DFL else [])):
        loop.add_signal_handler(number, on_signal, number)
    renewal = loop.create_task(_renew_lock(lock, host.services.clock, stop_requested))
    grace_seconds = GRACE_SECONDS
    try:
        await opened()
        await stop_requested
        _report(farewell((await host.queue.statistics()).in_flight))
    except StoreError:
        grace_seconds = 0.0  # another host works on the store: continuing would run turns twice
        raise
    finally:
        renewal.cancel()
        await close(grace_seconds)
    return 0


async def _renew_lock(lock: StoreLock, clock: Clock, stop_requested: "asyncio.Future[None]") -> None:
    while True:
        await clock.sleep(RENEW_SECONDS)
        try:
            await asyncio.to_thread(lock.renew)
        except StoreError as error:
            if not stop_requested.done():
                stop_requested.set_exception(error)
            return


def farewell(running: int) -> str:
    """Return the notice for the start of a shutdown with `running` turns in flight."""
    if not running:
        return "stopping"
    turns = "1 turn" if running == 1 else f"{running} turns"
    return (
        f"stopping: {turns} may take up to {GRACE_SECONDS:g} s to end; "
        "a second signal exits at once, and the next start resumes them"
    )


def _report(line: str) -> None:
    """Write a notice to a terminal; without one write it to the log, whose format must stay machine-readable."""
    if sys.stderr.isatty():
        with suppress(OSError):  # the terminal was closed
            note(line)
    else:
        log.warning(line)
