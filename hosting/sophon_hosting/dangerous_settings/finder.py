"""Search for all dangerous settings."""

from collections.abc import Mapping
from pathlib import Path

from sophon.settings import Settings
from sophon_hosting.dangerous_settings.approval import find_in_approval
from sophon_hosting.dangerous_settings.catalog import DangerousSetting
from sophon_hosting.dangerous_settings.channels import find_in_channels, find_in_urls
from sophon_hosting.dangerous_settings.guards import find_in_guards, find_in_permissions
from sophon_hosting.dangerous_settings.hub import find_in_hub, find_in_issuers
from sophon_hosting.dangerous_settings.tools import find_in_files_root, find_in_networks


def find_dangerous_settings(
    settings: Settings, *, folder: Path = Path(), home: Path | None = None, environment: Mapping[str, str] | None = None
) -> list[DangerousSetting]:
    """Return the dangerous settings, most dangerous first within a section.

    Relative paths are relative to `folder`, which holds the settings files; `home` is the home directory of the host's
    account; `environment` resolves the URL of the store. Only links of these paths are read.
    """
    return [
        *find_in_approval(settings),
        *find_in_guards(settings),
        *find_in_files_root(settings, folder, home, environment or {}),
        *find_in_networks(settings),
        *find_in_hub(settings),
        *find_in_issuers(settings),
        *find_in_channels(settings),
        *find_in_permissions(settings),
        *find_in_urls(settings),
    ]
