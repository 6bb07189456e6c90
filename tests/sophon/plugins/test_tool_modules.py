from pathlib import Path

import pytest

from sophon.errors import SettingsError
from sophon.plugins.tool_modules import tools_from_modules

TOOL = "from sophon import tool\n@tool\ndef {name}() -> str:\n    'Do.'\n    return ''\n"


def test_every_tool_of_every_module_is_found_once_and_in_order(folder: Path) -> None:
    (folder / "one_tools.py").write_text(TOOL.format(name="zeta") + TOOL.format(name="alpha"))
    (folder / "two_tools.py").write_text("from one_tools import zeta\n" + TOOL.format(name="beta"))
    found = tools_from_modules(["one_tools", "two_tools"], folder=folder)
    assert [tool.name for tool in found] == ["zeta", "alpha", "beta"]
    assert [tool.group for tool in found] == ["one_tools", "one_tools", "two_tools"]


def test_a_module_in_a_package_is_found(folder: Path) -> None:
    (folder / "my_package").mkdir()
    (folder / "my_package" / "inner.py").write_text(TOOL.format(name="gamma"))
    assert [(each.name, each.group) for each in tools_from_modules(["my_package.inner"], folder=folder)] == [
        ("gamma", "inner")
    ]


def test_a_group_of_its_own_stays(folder: Path) -> None:
    (folder / "grouped_tools.py").write_text(TOOL.format(name="eta").replace("@tool", "@tool(group='garden')"))
    assert [each.group for each in tools_from_modules(["grouped_tools"], folder=folder)] == ["garden"]


def test_every_module_that_is_of_no_use_gets_one_line(folder: Path) -> None:
    (folder / "empty_tools.py").write_text("x = 1")
    (folder / "broken_tools.py").write_text("raise RuntimeError('no')")
    with pytest.raises(SettingsError) as caught:
        tools_from_modules(["no_such_tools", "empty_tools", "broken_tools"], folder=folder)
    assert caught.value.problems == [
        f"Tools.Modules[0]: there is no module 'no_such_tools', neither installed nor in {folder.resolve()}",
        "Tools.Modules[1]: the module 'empty_tools' has no @tool",
        "Tools.Modules[2]: 'broken_tools' cannot be imported: RuntimeError: no",
    ]


def test_a_module_of_the_persons_never_takes_the_place_of_an_installed_one(folder: Path) -> None:
    (folder / "json.py").write_text(TOOL.format(name="delta"))
    with pytest.raises(SettingsError, match="has no @tool"):
        tools_from_modules(["json"], folder=folder)
