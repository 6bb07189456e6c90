"""Built-in tools: time, arithmetic, memory, files, HTTP, shell, and loading of tool groups."""

from sophon.builtin_tools.calculator import calculator
from sophon.builtin_tools.date_time import datetime_now
from sophon.builtin_tools.files import files_list, files_read, files_write
from sophon.builtin_tools.http import http_request, http_send
from sophon.builtin_tools.memory import memory_forget, memory_graph, memory_read, memory_search, memory_write
from sophon.builtin_tools.shell import system_execute
from sophon.builtin_tools.tool_loading import load_tools
from sophon.tools.tool import Tool

__all__ = ["builtin_tools"]

# Ordered by expected use; slots of the tool filter without a scored tool are filled in this order.
_BUILTIN_TOOLS = (
    datetime_now,
    memory_search,
    load_tools,
    calculator,
    memory_write,
    files_read,
    files_list,
    http_request,
    files_write,
    http_send,
    memory_forget,
    system_execute,
    memory_read,
    memory_graph,
)


def builtin_tools() -> list[Tool]:
    """Return all built-in tools in a fixed order; a new list of shared objects."""
    return list(_BUILTIN_TOOLS)
