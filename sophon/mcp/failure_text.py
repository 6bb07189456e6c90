"""Text of the failure of a server."""

from typing import Final, cast

from mcp.shared.exceptions import MCPError

from sophon.security import redact

MAX_ERROR: Final = 1000
"""Characters of an error of a server that are kept."""


def describe_failure(error: BaseException) -> str:
    """Return one line about why a server failed, without secrets; of a group of errors about the first one."""
    if isinstance(error, BaseExceptionGroup):
        return describe_failure(cast("BaseExceptionGroup[BaseException]", error).exceptions[0])
    if isinstance(error, TimeoutError):
        return "the MCP server does not answer"
    if isinstance(error, MCPError):
        text = f"the MCP server reports: {error.error.message}"
    elif isinstance(error, FileNotFoundError):
        text = f"there is no program {error.filename!r}"
    else:
        text = f"{type(error).__name__}: {error}"
    return redact(" ".join(text.split()))[:MAX_ERROR]
