"""Ids of MCP servers: none is the beginning of the names of tools that Sophon has."""

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules, walk_packages

from sophon import builtin_tools
from sophon.composition.setting_references import find_taken_tool_prefixes
from sophon.settings import Settings
from sophon.skills.custom_tools import PREFIX
from sophon.tools.tool import Tool
from sophon_hosting import features


def list_tool_names() -> Iterator[str]:
    """Yield the names of all tools that a module of the built-in ones or of a feature has, whatever registers them."""
    modules = [f"{builtin_tools.__name__}.{each.name}" for each in iter_modules(builtin_tools.__path__)]
    for each in walk_packages(features.__path__, f"{features.__name__}."):
        if each.name.endswith(".tools"):
            modules.append(each.name)
    for module in modules:
        yield from (value.name for value in vars(import_module(module)).values() if isinstance(value, Tool))


def test_no_server_can_begin_its_names_like_a_tool_of_sophon() -> None:
    names = [*list_tool_names(), f"{PREFIX}mine", "chat.send_file"]
    beginnings = sorted({name.partition(".")[0] for name in names if "." in name})
    servers = [{"Id": each, "Command": "x"} for each in beginnings]
    assert {"agents", "files", "goals", "schedules", "tools"} <= {*beginnings}
    assert len(find_taken_tool_prefixes(Settings.from_mapping({"Mcp": {"Servers": servers}}), [])) == len(beginnings)
