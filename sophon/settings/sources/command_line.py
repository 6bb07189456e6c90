"""Settings from the command line: each `Section.Key=value` pair becomes a layer."""

from collections.abc import Mapping, Sequence

from sophon.settings.sources.json_files import ROOT_KEY
from sophon.settings.sources.layers import SettingsLayer
from sophon.settings.sources.override_layers import build_override_layers
from sophon.settings.types.section import SettingsSection

SettingOverrides = Mapping[str, object] | Sequence[str]
"""Overrides from the command line: `["Hub.Port=8081"]`, or `{"Hub.Port": 8081}`."""

COMMAND_LINE_SOURCE = "command line"
"""Source name of overrides in error messages; the path in the message identifies the override."""


def layers_from_pairs(
    root: type[SettingsSection], overrides: SettingOverrides
) -> tuple[list[SettingsLayer], list[str]]:
    """Return the layers of `A.B=value` or `A:B=value` pairs in their order, and their problems."""
    if isinstance(overrides, Mapping):
        return build_override_layers(
            root, [(COMMAND_LINE_SOURCE, _split_path(path), value) for path, value in overrides.items()]
        )
    split = [pair.partition("=") for pair in overrides]
    # The text without "=" may be a secret, so the message gives only its position in the list.
    missing = [
        f"--set: setting {position} has no {'name before the =' if equals else '='}; write it as Hub.Port=8081"
        for position, (path, equals, _) in enumerate(split, 1)
        if not (path.strip() and equals)
    ]
    given = [(path, value) for path, equals, value in split if path.strip() and equals]
    layers, problems = build_override_layers(
        root, [(COMMAND_LINE_SOURCE, _split_path(path), value) for path, value in given]
    )
    return layers, missing + problems


def _split_path(path: str) -> list[str]:
    parts = [part.strip() for part in path.lstrip("-").split(":" if ":" in path else ".")]
    return parts[1:] if len(parts) > 1 and parts[0].casefold() == ROOT_KEY.casefold() else parts
