"""Tools from a person's own modules: every `@tool` in the modules that the settings name."""

from collections.abc import Sequence
from pathlib import Path

from sophon.errors import SettingsError
from sophon.import_paths import import_module
from sophon.tools.tool import Tool


def tools_from_modules(names: Sequence[str], *, folder: Path) -> list[Tool]:
    """The tools in the modules, in the order of the names and of the module's text; each once, wherever it is from.

    `folder` is where modules are looked for that Python does not find elsewhere. Raises SettingsError with a line for
    every module that cannot be imported or holds no tool.
    """
    tools: dict[int, Tool] = {}
    problems: list[str] = []
    for place, name in enumerate(names):
        setting = f"Tools.Modules[{place}]"
        try:
            module = import_module(name, setting=setting, folder=folder)
        except SettingsError as error:
            problems += error.problems
            continue
        found = [value for value in vars(module).values() if isinstance(value, Tool)]
        if not found:
            problems.append(f"{setting}: the module {name!r} has no @tool")
        tools |= {id(each): each for each in found}
    if problems:
        raise SettingsError(problems)
    return list(tools.values())
