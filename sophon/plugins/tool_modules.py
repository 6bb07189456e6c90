"""Tools from user modules: every `@tool` in the modules named in `Tools.Modules`."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from sophon.errors import SettingsError
from sophon.plugins.import_paths import import_user_module
from sophon.tools.tool import Tool


def tools_from_modules(names: Sequence[str], *, folder: Path) -> list[Tool]:
    """Import the modules and return their tools, each once, in order of modules and of definition.

    A tool without a group is in that of its module, the last part of its name. `folder` is searched last, after
    Python's own path. Raises SettingsError with one line for every module that cannot be imported or contains no tool.
    """
    tools: dict[int, Tool] = {}
    problems: list[str] = []
    for index, name in enumerate(names):
        setting = f"Tools.Modules[{index}]"
        try:
            module = import_user_module(name, setting=setting, folder=folder)
        except SettingsError as error:
            problems += error.problems
            continue
        found = [value for value in vars(module).values() if isinstance(value, Tool)]
        if not found:
            problems.append(f"{setting}: the module {name!r} has no @tool")
        for each in found:
            tools.setdefault(id(each), each if each.group else replace(each, group=name.rpartition(".")[2]))
    if problems:
        raise SettingsError(problems)
    return list(tools.values())
