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

from sophon.errors import SettingsError
from sophon.settings import Settings
from sophon_hosting.cli.arguments import GlobalOptions
from sophon_hosting.cli.screen import note
from sophon_hosting.cli.start import settings_of
from sophon_hosting.host import GRACE_SECONDS, Host
from sophon_hosting.observing.logs import set_up_host_logs
from sophon_hosting.store_lock import StoreLock

log = logging.getLogger("sophon")

SIGNALS = (signal.SIGINT, signal.SIGTERM)
HANGUP = signal.SIGHUP
"""Of a terminal that was closed; as the others, unless it is ignored (`nohup`)."""

LogForm = Annotated[
    str | None, typer.Option("--log", metavar="FORM", help="The log as json or text; Logging.Format by default.")
]


def running_settings(options: GlobalOptions, log_form: str | None = None, pairs: tuple[str, ...] = ()) -> Settings:
    """The settings of a process that goes on, whose log is set up as they say. Raises SettingsError."""
    settings = settings_of(options, [*pairs, *([f"Logging.Format={log_form}"] if log_form is not None else [])])
    if not options.debug:
        set_up_host_logs(settings.logging.level, settings.logging.format)
    return settings


def store_lock_of(options: GlobalOptions, settings: Settings) -> StoreLock:
    """The lock of whoever works on the store of the settings, not taken yet. Raises SettingsError."""
    url = settings.store.url.resolve(os.environ)
    if url is None:
        raise SettingsError([f"Store.Url: {settings.store.url.origin} is missing or empty"])
    return StoreLock(url, folder=options.folder)


def run_until_stopped(opened: Callable[[], Awaitable[None]], close: Callable[[], Awaitable[None]], host: Host) -> int:
    """Open, wait for a signal, close in good order; the exit code.

    A second signal ends the process where it stands: what it leaves unfinished is taken up by the next start, as after
    a kill.
    """
    return asyncio.run(_run(opened, close, host))


async def _run(opened: Callable[[], Awaitable[None]], close: Callable[[], Awaitable[None]], host: Host) -> int:
    asked = asyncio.Event()

    def stop(number: int) -> None:
        if asked.is_set():
            sys.stderr.flush()
            os._exit(128 + number)
        asked.set()

    loop = asyncio.get_running_loop()
    for number in (*SIGNALS, *([HANGUP] if signal.getsignal(HANGUP) is signal.SIG_DFL else [])):
        loop.add_signal_handler(number, stop, number)
    try:
        await opened()
        await asked.wait()
        _tell(farewell((await host.queue.statistics()).in_flight))
    finally:
        await close()
    return 0


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
