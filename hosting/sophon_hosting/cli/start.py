"""What most commands begin with: settings from all their places, services made of them, a store that is open."""

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
    """The settings in force; `pairs` come last and win. Logs are set up besides. Raises SettingsError."""
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
    """The services of the settings, not open yet. Raises SettingsError, CompositionError, StoreError."""
    return Services.from_settings(
        settings, environment=os.environ, folder=options.folder, events=events, approvals=approvals, clock=clock
    )


def store_of(options: GlobalOptions, settings: Settings) -> Store:
    """The store of the settings, not open yet. Raises StoreError."""
    url = settings.store.url.resolve(os.environ)
    if url is None:
        raise SettingsError([f"Store.Url: {settings.store.url.origin} is missing or empty"])
    return store_from_url(url, folder=options.folder)


def with_store(options: GlobalOptions, work: Callable[[Store], Awaitable[T]]) -> T:
    """Open the store of the settings, do something with it, close it."""

    async def run() -> T:
        store = store_of(options, settings_of(options))
        await store.open()
        try:
            return await work(store)
        finally:
            await store.close()

    return asyncio.run(run())
