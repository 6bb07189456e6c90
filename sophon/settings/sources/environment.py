"""Settings from environment variables: each variable with the prefix becomes a layer."""

from collections.abc import Mapping

from sophon.settings.sources.layers import SettingsLayer
from sophon.settings.sources.override_layers import build_override_layers
from sophon.settings.types.section import SettingsSection

ENVIRONMENT_PREFIX = "SOPHON__"
"""Prefix of environment variables that are settings: `SOPHON__Hub__Port=8081`. Case-insensitive."""


def layers_from_environment(
    root: type[SettingsSection], environment: Mapping[str, str]
) -> tuple[list[SettingsLayer], list[str]]:
    """Return the layers of all variables with `ENVIRONMENT_PREFIX`, more specific ones later, and their problems."""
    found = [name for name in environment if name.upper().startswith(ENVIRONMENT_PREFIX)]
    found.sort(key=lambda name: (name.count("__"), name))
    given = [(name, name[len(ENVIRONMENT_PREFIX) :].split("__"), environment[name]) for name in found]
    return build_override_layers(root, given)
