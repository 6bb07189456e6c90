"""The tools that are there without being written: time, arithmetic, memory, files, web, shell."""

from sophon.tools.builtin.calculator import calculator
from sophon.tools.builtin.files import files_list, files_read, files_write
from sophon.tools.builtin.http import http_request, http_send
from sophon.tools.builtin.loading import load_tools
from sophon.tools.builtin.memory import memory_forget, memory_search, memory_write
from sophon.tools.builtin.shell import system_execute
from sophon.tools.builtin.time import datetime_now
from sophon.tools.tool import Tool

__all__ = ["builtin_tools"]

# What is wanted most, and the way to the rest, stand first: places that no score fills are given in this order.
_ALL = (
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
)


def builtin_tools() -> list[Tool]:
    """All built-in tools, always in the same order; the objects are shared, the list is new."""
    return list(_ALL)
