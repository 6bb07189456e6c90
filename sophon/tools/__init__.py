"""Tools: the `@tool` decorator, the registry, result truncation and the SSRF guard."""

from sophon.tools.http.ssrf_guard import SsrfBlocked, SsrfGuard, Target
from sophon.tools.registry import ToolRegistry
from sophon.tools.result_masking import mask_ids_and_times
from sophon.tools.tool import Risk, Tool, tool
from sophon.tools.truncation import truncate

__all__ = [
    "Risk",
    "SsrfBlocked",
    "SsrfGuard",
    "Target",
    "Tool",
    "ToolRegistry",
    "mask_ids_and_times",
    "tool",
    "truncate",
]
