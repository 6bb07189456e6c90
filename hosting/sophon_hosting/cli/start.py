"""Bootstrap of the commands: load the settings, create the services, create and open the store."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from sophon.approvals import ApprovalGate
from sophon.clock import Clock
from sophon.errors import SettingsError
from sophon.events import EventSink
from sophon.services import Services
from sophon.settings import Settings, load_settings
from sophon.stores.contracts import Store
from sophon.stores.opening import store_from_url
from sophon_hosting.cli.arguments import GlobalOptions
from sophon_hosting.cli.errors import set_up_logs

T = TypeVar("T")


def settings_of(options: GlobalOptions, pairs: Sequence[str] = ()) -> Settings:
    """Load the effective settings and configure logging. `pairs` (`Section.Key=value`) override everything else.

    Raises SettingsError.
    """
    set_up_logs(debug=options.debug)
    return load_settings(
        folder=options.folder,
        file=options.settings,
        environment=os.environ,
        overrides=[*options.pairs, *pairs],
    )


def services_of(
    options: GlobalOptions,
    settings: Settings,
    *,
    events: EventSink | None = None,
    approvals: ApprovalGate | None = None,
    clock: Clock | None = None,
) -> Services:
    """Create the services without opening them. Raises SettingsError, CompositionError, StoreError."""
    return Services.from_settings(
        settings, environment=os.environ, folder=options.folder, events=events, approvals=approvals, clock=clock
    )


def store_of(options: GlobalOptions, settings: Settings) -> Store:
    """Create the configured store without opening it. Raises SettingsError, StoreError."""
    url = settings.store.url.resolve(os.environ)
    if url is None:
        raise SettingsError([f"Store.Url: {settings.store.url.origin} is missing or empty"])
    return store_from_url(url, folder=options.folder)


def with_store(options: GlobalOptions, work: Callable[[Store], Awaitable[T]]) -> T:
    """Open the configured store, run `work` with it, close the store and return the result of `work`."""

    async def run() -> T:
        store = store_of(options, settings_of(options))
        await store.open()
        try:
            return await work(store)
        finally:
            await store.close()

    return asyncio.run(run())
