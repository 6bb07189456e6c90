"""Text of the failure of a server."""

from typing import Final, cast

from mcp.shared.exceptions import MCPError

from sophon.invisible_characters import escape_invisible
from sophon.security import redact

MAX_ERROR: Final = 1000
"""Characters of an error of a server that are kept."""


MAX_LAST_WORDS: Final = 300


def describe_end(error: BaseException, last_words: str) -> str:
    """Return one line about why a server failed, with the last line that its program wrote, without secrets."""
    said = escape_invisible(redact(last_words))[:MAX_LAST_WORDS]
    return f"{describe_failure(error)}; its last words: {said}" if said else describe_failure(error)


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
