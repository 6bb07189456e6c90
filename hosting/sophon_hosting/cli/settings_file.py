"""Changes of the settings file: one list in it, its other contents as they are, written atomically."""

import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from sophon._python.lazy_pattern import lazy_pattern
from sophon.errors import InputError
from sophon.settings.loader import SETTINGS_FILE_NAME
from sophon.settings.sources.json_files import ROOT_KEY, parse_strict_json
from sophon.settings.types.json_type_checks import is_mapping
from sophon.snapshots.link_safe_files import FileContent, replace_file
from sophon_hosting.cli.global_options import GlobalOptions

PRIVATE: Final = 0o600
_INDENT = lazy_pattern(r"\n([ \t]+)\S")


def find_settings_file(options: GlobalOptions) -> Path:
    """Return the file that commands read and change."""
    return options.settings_file or Path(SETTINGS_FILE_NAME)


def change_settings_file(file: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Apply a change to what is below `Sophon`, and replace the file at once; a missing one is created.

    A link stays one: the file that it leads to is replaced. Raises InputError if the file cannot be read or written, or
    is none of settings.
    """
    target = file.resolve()
    try:
        text = target.read_text(encoding="utf-8-sig") if target.exists() else "{}"
        mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else PRIVATE
        whole = parse_strict_json(text)
        if not is_mapping(whole) or not is_mapping(whole.get(ROOT_KEY, {})):
            raise InputError(f"{file}: a mapping is expected")
        settings: dict[str, Any] = {**whole.get(ROOT_KEY, {})}
        change(settings)
        whole = {**whole, ROOT_KEY: settings}
        indent = found[1] if (found := _INDENT.search(text)) is not None else "  "
        changed = json.dumps(whole, indent=indent, ensure_ascii=False) + "\n"
        if (target.read_text(encoding="utf-8-sig") if target.exists() else "{}") != text:
            raise InputError(f"{file} was changed meanwhile; nothing was written")
        replace_file(target.parent, target.name, FileContent(changed.encode(), mode))
    except OSError as error:
        raise InputError(f"{file} cannot be changed: {error.strerror or error}") from error
    except ValueError as error:
        raise InputError(f"{file} cannot be changed: {error}") from error


def find_key(section: dict[str, Any], name: str) -> str:
    """Return the key of a section as the file spells it, `name` if it is not there."""
    return next((key for key in section if key.casefold() == name.casefold()), name)
