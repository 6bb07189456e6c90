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
from sophon.settings import Settings
from sophon.settings.loader import LoadedSettings, load_with_layers
from sophon_hosting.cli.error_reporting import configure_cli_logging
from sophon_hosting.cli.global_options import GlobalOptions
from sophon_hosting.store.contract import HostStore
from sophon_hosting.store.factory import host_store_from_url

T = TypeVar("T")


def load_cli_settings(options: GlobalOptions, overrides: Sequence[str] = ()) -> Settings:
    """Load the effective settings, with the defaults of the chain, and configure logging. `overrides`
    (`Section.Key=value`) override everything else.

    Raises SettingsError.
    """
    return _complete(load_cli_settings_with_layers(options, overrides).settings)


def load_cli_settings_with_layers(options: GlobalOptions, overrides: Sequence[str] = ()) -> LoadedSettings:
    """Load the settings as `load_cli_settings` does, with the layers that they come from. Raises SettingsError."""
    configure_cli_logging(debug=options.debug)
    return load_with_layers(
        folder=options.settings_folder,
        file=options.settings_file,
        environment=os.environ,
        overrides=[*options.overrides, *overrides],
    )


def create_services(
    options: GlobalOptions,
    settings: Settings,
    *,
    events: EventSink | None = None,
    approvals: ApprovalGate | None = None,
    clock: Clock | None = None,
) -> Services:
    """Create the services without opening them. Raises SettingsError, CompositionError, StoreError."""
    return Services.from_settings(
        _complete(settings),
        environment=os.environ,
        folder=options.settings_folder,
        events=events,
        approvals=approvals,
        clock=clock,
        make_store=host_store_from_url,
    )


def _complete(settings: Settings) -> Settings:
    """Return the settings with the defaults of their chain."""
    if settings.chain.name == "twelve":
        return settings
    from sophon_middlewares.chains.chain_settings import complete_for_chain  # lazy: it imports the stages

    return complete_for_chain(settings)


def create_store(options: GlobalOptions, settings: Settings) -> HostStore:
    """Create the configured store without opening it. Raises SettingsError, StoreError."""
    return host_store_from_url(resolve_store_url(settings), folder=options.settings_folder)


def resolve_store_url(settings: Settings) -> str:
    """Return the URL of the configured store. Raises SettingsError if the secret that it is is missing."""
    url = settings.store.url.resolve(os.environ)
    if url is None:
        raise SettingsError([f"Store.Url: {settings.store.url.source_description} is missing or empty"])
    return url


def run_with_store(options: GlobalOptions, operation: Callable[[HostStore], Awaitable[T]]) -> T:
    """Open the configured store, run `operation` with it, close the store and return the result of `operation`."""

    async def run() -> T:
        store = create_store(options, load_cli_settings(options))
        await store.open()
        try:
            return await operation(store)
        finally:
            await store.close()

    return asyncio.run(run())
