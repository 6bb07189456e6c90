"""A person's own code by its name in the settings: modules, and `package.module:function`."""

import importlib
import sys
from functools import reduce
from pathlib import Path
from types import ModuleType

from sophon.errors import SettingsError


def import_module(name: str, *, setting: str, folder: Path) -> ModuleType:
    """The module of that name; one that Python does not find elsewhere is looked for in `folder`.

    Raises SettingsError, with `setting` as the path, if it is not there or cannot be imported.
    """
    try:
        return _imported(name, folder)
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


def import_object(path: str, *, setting: str, folder: Path) -> object:
    """What `package.module:name` stands for; the name may have dots. Raises SettingsError."""
    module_name, _, name = path.partition(":")
    module = import_module(module_name, setting=setting, folder=folder)
    try:
        found: object = reduce(getattr, name.split("."), module)
    except AttributeError:
        raise SettingsError([f"{setting}: the module {module_name!r} has no {name!r}"]) from None
    return found


def _imported(name: str, folder: Path) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        place = str(folder.resolve())
        if error.name != name.partition(".")[0] or place in sys.path:
            raise
    # At the end, so that a file of the person's never takes the place of an installed module.
    sys.path.append(place)
    importlib.invalidate_caches()
    return importlib.import_module(name)
