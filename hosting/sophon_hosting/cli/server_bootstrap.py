"""Bootstrap of the long-running commands `serve` and `worker`: settings, logging, store lease."""

import os

from sophon.composition.configured_secrets import collect_secrets
from sophon.settings import Settings
from sophon.settings.loader import LoadedSettings
from sophon_hosting.cli.bootstrap import load_cli_settings_with_layers, resolve_store_url
from sophon_hosting.cli.global_options import GlobalOptions
from sophon_hosting.observability.logging_setup import configure_logging
from sophon_hosting.settings.logging import LoggingSettings
from sophon_hosting.store_lease import StoreLease


def load_server_settings_with_layers(
    options: GlobalOptions, log_format: str | None = None, overrides: tuple[str, ...] = ()
) -> LoadedSettings:
    """Load the settings of a long-running process with their layers, and configure its log accordingly.

    Raises SettingsError.
    """
    loaded = load_cli_settings_with_layers(
        options, [*overrides, *([f"Logging.Format={log_format}"] if log_format is not None else [])]
    )
    settings = loaded.settings
    level = "Debug" if options.debug else settings.section(LoggingSettings).level
    configure_logging(level, settings.section(LoggingSettings).format, secrets=collect_secrets(settings, os.environ))
    return loaded


def create_store_lease(options: GlobalOptions, settings: Settings, *, is_shared: bool = False) -> StoreLease:
    """Create the lease of the configured store without acquiring it; `is_shared` for a process with a shared queue.

    Raises SettingsError.
    """
    return StoreLease(resolve_store_url(settings), folder=options.settings_folder, is_shared=is_shared)
