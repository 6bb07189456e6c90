"""A process that runs until it is told to stop: the first signal drains it, the second leaves."""

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
"""Of a terminal that was closed; as the others, unless it is ignored (`nohup`)."""

RENEW_SECONDS = 10.0
"""Between two looks at whether the lock on the store is still ours."""

LogForm = Annotated[
    str | None, typer.Option("--log", metavar="FORM", help="The log as json or text; Logging.Format by default.")
]


def running_settings(options: GlobalOptions, log_form: str | None = None, pairs: tuple[str, ...] = ()) -> Settings:
    """The settings of a process that goes on, whose log is set up as they say. Raises SettingsError."""
    settings = settings_of(options, [*pairs, *([f"Logging.Format={log_form}"] if log_form is not None else [])])
    level = "Debug" if options.debug else settings.logging.level
    set_up_host_logs(level, settings.logging.format, secrets=secrets_of(settings, os.environ))
    return settings


def store_lock_of(options: GlobalOptions, settings: Settings) -> StoreLock:
    """The lock of whoever works on the store of the settings, not taken yet. Raises SettingsError."""
    url = settings.store.url.resolve(os.environ)
    if url is None:
        raise SettingsError([f"Store.Url: {settings.store.url.origin} is missing or empty"])
    return StoreLock(url, folder=options.folder)


def run_until_stopped(
    opened: Callable[[], Awaitable[None]], close: Callable[[float], Awaitable[None]], host: Host, lock: StoreLock
) -> int:
    """Open, wait for a signal, close in good order; the exit code. `close` is told how many seconds what runs has.

    A second signal ends the process where it stands: what it leaves unfinished is taken up by the next start, as after
    a kill. Raises StoreError, at once, when another process has got hold of the store.
    """
    return asyncio.run(_run(opened, close, host, lock))


async def _run(
    opened: Callable[[], Awaitable[None]], close: Callable[[float], Awaitable[None]], host: Host, lock: StoreLock
) -> int:
    loop = asyncio.get_running_loop()
    asked: asyncio.Future[None] = loop.create_future()

    def stop(number: int) -> None:
        if asked.done():
            sys.stderr.flush()
            os._exit(128 + number)
        asked.set_result(None)

    for number in (*SIGNALS, *([HANGUP] if signal.getsignal(HANGUP) is signal.SIG_DFL else [])):
        loop.add_signal_handler(number, stop, number)
    watch = loop.create_task(_watch(lock, host.services.clock, asked))
    grace_seconds = GRACE_SECONDS
    try:
        await opened()
        await asked
        _tell(farewell((await host.queue.statistics()).in_flight))
    except StoreError:
        grace_seconds = 0.0  # another works on it: whatever goes on here is done twice
        raise
    finally:
        watch.cancel()
        await close(grace_seconds)
    return 0


async def _watch(lock: StoreLock, clock: Clock, asked: "asyncio.Future[None]") -> None:
    while True:
        await clock.sleep(RENEW_SECONDS)
        try:
            await asyncio.to_thread(lock.renew)
        except StoreError as error:
            if not asked.done():
                asked.set_exception(error)
            return


def farewell(running: int) -> str:
    """What a person needs to know of a host that has just been told to stop, with so many turns under way."""
    if not running:
        return "stopping"
    turns = "1 turn" if running == 1 else f"{running} turns"
    return (
        f"stopping: {turns} may take up to {GRACE_SECONDS:g} s to end; "
        "once more leaves at once, and they go on with the next start"
    )


def _tell(line: str) -> None:
    """To whoever sits there; elsewhere into the log, in whose lines no other may stand."""
    if sys.stderr.isatty():
        with suppress(OSError):  # the terminal is gone
            note(line)
    else:
        log.warning(line)
