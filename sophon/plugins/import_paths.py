"""Import of user code named in the settings: modules, and objects as `package.module:name`."""

import importlib
import sys
from functools import reduce
from pathlib import Path
from types import ModuleType

from sophon.errors import SettingsError


def import_user_module(name: str, *, setting: str, folder: Path) -> ModuleType:
    """Import the module `name`; `folder` is searched last, after Python's own path.

    Raises SettingsError, with `setting` as the path, if the module does not exist or cannot be imported.
    """
    try:
        return _import_with_folder(name, folder)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            where = folder.resolve()
            problem = f"there is no module {error.name!r}, neither installed nor in {where}"
        else:
            problem = f"{name!r} cannot be imported: {error}"
        raise SettingsError([f"{setting}: {problem}"]) from error
    except Exception as error:
        problem = f"{name!r} cannot be imported: {type(error).__name__}: {error}"
        raise SettingsError([f"{setting}: {problem}"]) from error


def import_user_object(path: str, *, setting: str, folder: Path) -> object:
    """Import the object `package.module:name`; the name may have dots. Raises SettingsError."""
    module_name, _, name = path.partition(":")
    module = import_user_module(module_name, setting=setting, folder=folder)
    try:
        found: object = reduce(getattr, name.split("."), module)
    except AttributeError:
        raise SettingsError([f"{setting}: the module {module_name!r} has no {name!r}"]) from None
    return found


def _import_with_folder(name: str, folder: Path) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        directory = str(folder.resolve())
        if error.name != name.partition(".")[0] or directory in sys.path:
            raise
    # Appended, so that a file of the user never shadows an installed module.
    sys.path.append(directory)
    importlib.invalidate_caches()
    return importlib.import_module(name)
