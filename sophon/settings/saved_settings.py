"""Settings that the host saved itself: a file beside its data, and the files of keys that it refers to.

`appsettings.json` belongs to people and may not be writable, so it stays untouched; environment variables and the
command line override what is saved.
"""

import json
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from sophon._python.private_files import make_private_folder, open_new_private_file
from sophon.errors import SettingsError
from sophon.settings.sources.json_files import ROOT_KEY, parse_strict_json
from sophon.settings.types.json_type_checks import is_mapping
from sophon.settings.types.secret_references import FILE_KEY

SAVED_FILE = Path("data", ".sophon", "appsettings.local.json")
"""The file below the folder of the settings. The guards keep agents from it and from all else in `.sophon`."""

KEY_FILES = "*.key"
"""Names of the files with keys, beside it."""


class SavedSettings:
    """The saved settings of one folder: read as they are in the file, written as a whole.

    A key is in a file of its own with mode 0600, which the settings name with `$file`; nothing reads it back but the
    resolution of that reference.
    """

    def __init__(self, folder: Path) -> None:
        self.file = folder / SAVED_FILE

    def read(self) -> dict[str, Any]:
        """Return the mapping below `Sophon`; empty without a file. Raises SettingsError."""
        try:
            values = parse_strict_json(self.file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise SettingsError([f"{self.file}: cannot be read: {error}"]) from None
        root = values.get(ROOT_KEY, {}) if is_mapping(values) else None
        if not is_mapping(root):
            raise SettingsError([f"{self.file}: a mapping below {ROOT_KEY} is expected"])
        return dict(root)

    def write(self, values: Mapping[str, Any]) -> None:
        """Replace the file, at once and for this account only. Raises SettingsError."""
        text = json.dumps({ROOT_KEY: dict(values)}, indent=2, ensure_ascii=False)
        new = self.file.with_name(f".{self.file.name}.{secrets.token_hex(4)}")
        try:
            make_private_folder(self.file.parent)
            try:
                with open_new_private_file(new) as stream:
                    stream.write(f"{text}\n")
                    stream.flush()
                    os.fsync(stream.fileno())
                new.replace(self.file)
            finally:
                new.unlink(missing_ok=True)
        except OSError as error:
            raise SettingsError([f"{self.file}: cannot be written: {error.strerror}"]) from error

    def write_key(self, provider_id: str, key: str) -> dict[str, str]:
        """Write a key to a new file; return the reference to it for the settings. Raises SettingsError."""
        file = self.file.with_name(f"{provider_id}-{secrets.token_hex(8)}.key")
        try:
            make_private_folder(file.parent)
            with open_new_private_file(file) as stream:
                stream.write(key)
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as error:
            raise SettingsError([f"{file}: cannot be written: {error.strerror}"]) from error
        return {FILE_KEY: file.name}

    def delete_other_keys(self, values: Mapping[str, Any]) -> None:
        """Delete the files of keys that the values do not name: those of replaced providers."""
        kept = json.dumps(dict(values))
        with suppress(OSError):
            for file in self.file.parent.glob(KEY_FILES):
                if f'"{file.name}"' not in kept:
                    file.unlink(missing_ok=True)


def set_value(values: Mapping[str, Any], path: tuple[str, ...], value: object) -> dict[str, Any]:
    """Return the values with one of them set."""
    name, *rest = path
    inner = values.get(name)
    return {**values, name: set_value(inner if is_mapping(inner) else {}, tuple(rest), value) if rest else value}


def remove_value(values: Mapping[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    """Return the values without one of them, and without mappings that are empty then."""
    name, *rest = path
    kept = {key: value for key, value in values.items() if key != name}
    inner = values.get(name)
    if rest and is_mapping(inner) and (smaller := remove_value(inner, tuple(rest))):
        kept[name] = smaller
    return kept
