"""Connection to one MCP server, over stdio or streamable HTTP: its tools, and calls of them.

Requests are sent as such and not by the SDK's own methods for tools: these check results against a schema of the
server, whose patterns may take for ever, in this process.
"""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, cast

from mcp import Client
from mcp.client.session import IncomingMessage
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    Implementation,
    ListToolsRequest,
    ListToolsResult,
    PaginatedRequestParams,
    ToolListChangedNotification,
)

from sophon._version import __version__
from sophon.errors import ToolError
from sophon.lazy_dataclass import dataclass
from sophon.mcp.bounded_http import open_http
from sophon.mcp.bounded_stdio import open_stdio
from sophon.mcp.result_text import result_to_text
from sophon.mcp.tool_definition import ToolDefinition
from sophon.security import redact

MAX_TOOLS: Final = 200
"""Tools of a server that are read; what it lists beyond is left out."""

MAX_PAGES: Final = 50
MAX_ERROR: Final = 1000
"""Characters of an error of a server that are kept."""


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """How a server is reached: `command` with its environment, or `url` with headers; secrets are resolved."""

    command: tuple[str, ...] = ()
    environment: Mapping[str, str] | None = None
    folder: Path | None = None
    url: str = ""
    headers: Mapping[str, str] | None = None
    call_seconds: float = 60.0


class ServerConnection:
    """An open connection; its methods end with MCPError if the server is gone, and can be cancelled."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def list_tools(self) -> tuple[list[ToolDefinition], bool]:
        """Return the tools, page by page up to `MAX_TOOLS`, and whether there are more.

        Raises MCPError, ValueError for a list that is not valid.
        """
        if self._client.server_capabilities.tools is None:
            return [], False
        found: list[ToolDefinition] = []
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            request = ListToolsRequest(params=PaginatedRequestParams(cursor=cursor))
            page = await self._client.session.send_request(request, ListToolsResult)
            for each in page.tools:
                found.append(ToolDefinition.from_json(each.model_dump(by_alias=True, mode="json", exclude_none=True)))
            cursor = page.next_cursor
            if cursor is None or len(found) >= MAX_TOOLS:
                break
        return found[:MAX_TOOLS], cursor is not None or len(found) > MAX_TOOLS

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Call a tool and return its result as text. Raises ToolError if the call fails.

        A call that is cancelled is cancelled at the server too.
        """
        request = CallToolRequest(params=CallToolRequestParams(name=name, arguments=dict(arguments)))
        try:
            result = await self._client.session.send_request(request, CallToolResult)
        except MCPError as error:
            raise ToolError(describe_failure(error)) from None
        except ValueError:
            raise ToolError("the MCP server answered with what is no result of a tool") from None
        content = [each.model_dump(by_alias=True, mode="json", exclude_none=True) for each in result.content]
        text = result_to_text(content, result.structured_content)
        if result.is_error:
            raise ToolError(text[:MAX_ERROR] or "the tool of the MCP server failed without a reason")
        return text


@asynccontextmanager
async def connect(address: ServerAddress, wake: Callable[[], None]) -> AsyncGenerator[ServerConnection]:
    """Open a connection; `wake` is called when the tools of the server have changed, or the server has ended.

    Raises OSError, MCPError and other errors, also in groups, for a server that cannot be reached.
    """

    async def receive(message: IncomingMessage) -> None:
        if isinstance(message, ToolListChangedNotification):
            wake()

    transport = (
        open_http(address.url, address.headers or {}, seconds=address.call_seconds)
        if address.url
        else open_stdio(address.command, address.environment or {}, folder=address.folder, on_end=wake)
    )
    client = Client(
        transport,
        mode="legacy",
        message_handler=receive,
        cache=None,
        client_info=Implementation(name="sophon", version=__version__),
    )
    async with client:
        yield ServerConnection(client)


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
