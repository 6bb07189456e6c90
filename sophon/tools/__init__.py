"""Tools: what they are, how they are found, and the pure rules that guard them."""

from sophon.tools.registry import ToolRegistry
from sophon.tools.ssrf import SsrfBlocked, SsrfGuard, Target
from sophon.tools.tool import Risk, Tool, tool
from sophon.tools.truncation import truncate

__all__ = ["Risk", "SsrfBlocked", "SsrfGuard", "Target", "Tool", "ToolRegistry", "tool", "truncate"]
