"""A process that runs until it is told to stop: the first signal drains it, the second leaves."""

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable

from sophon.errors import SettingsError
from sophon.settings import Settings
from sophon_hosting.cli.arguments import GlobalOptions
from sophon_hosting.cli.screen import note
from sophon_hosting.host import GRACE_SECONDS, Host
from sophon_hosting.store_lock import StoreLock

SIGNALS = (signal.SIGINT, signal.SIGTERM)


def run_until_stopped(opened: Callable[[], Awaitable[None]], close: Callable[[], Awaitable[None]], host: Host) -> int:
    """Open, wait for a signal, close in good order; the exit code.

    A second signal ends the process where it stands: what it leaves unfinished is taken up by the next start, as after
    a kill.
    """
    return asyncio.run(_run(opened, close, host))


def store_lock_of(options: GlobalOptions, settings: Settings) -> StoreLock:
    """The lock of whoever works on the store of the settings, not taken yet. Raises SettingsError."""
    url = settings.store.url.resolve(os.environ)
    if url is None:
        raise SettingsError([f"Store.Url: {settings.store.url.origin} is missing or empty"])
    return StoreLock(url, folder=options.folder)


async def _run(opened: Callable[[], Awaitable[None]], close: Callable[[], Awaitable[None]], host: Host) -> int:
    asked = asyncio.Event()

    def stop(number: int) -> None:
        if asked.is_set():
            sys.stderr.flush()
            os._exit(128 + number)
        asked.set()

    loop = asyncio.get_running_loop()
    for number in SIGNALS:
        loop.add_signal_handler(number, stop, number)
    try:
        await opened()
        await asked.wait()
        running = (await host.queue.statistics()).in_flight
        note(
            f"stopping: {running} {'turn' if running == 1 else 'turns'} may take up to {GRACE_SECONDS:g} s to end; "
            "once more leaves at once, and they go on with the next start"
            if running
            else "stopping"
        )
    finally:
        await close()
    return 0
