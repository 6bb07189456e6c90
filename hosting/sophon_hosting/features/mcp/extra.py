"""The extra `mcp`: whether it is installed, and what is said where it is not."""

from importlib.util import find_spec
from typing import Final

from sophon.extras import install_command

MISSING_EXTRA: Final = f"MCP servers need the extra mcp: {install_command('mcp')}"


def has_extra() -> bool:
    """Return whether the extra is installed; nothing of it is imported."""
    return find_spec("mcp") is not None
