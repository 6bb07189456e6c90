"""Connection to one MCP server, over stdio or streamable HTTP: its tools, resources and prompts.

Requests are sent as such and not by the SDK's own methods for tools: these check results against a schema of the
server, whose patterns may take for ever, in this process.
"""

import logging
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final, cast

import anyio
from mcp import Client
from mcp.client.session import ClientRequestContext, IncomingMessage
from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CallToolRequest,
    CallToolRequestParams,
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitResult,
    GetPromptRequest,
    GetPromptRequestParams,
    Implementation,
    InputRequiredResult,
    InputResponses,
    ListPromptsRequest,
    ListResourcesRequest,
    ListResourceTemplatesRequest,
    PaginatedRequestParams,
    ReadResourceRequest,
    ReadResourceRequestParams,
    Request,
    ToolListChangedNotification,
)
from mcp_types.methods import is_input_required
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import TypeAdapter

from sophon._python.lazy_dataclass import dataclass
from sophon._version import __version__
from sophon.errors import ToolError
from sophon.failure_log import log_failure
from sophon.traces.trace_context import HEADER, find_traceparent
from sophon_hosting.features.mcp.client.elicitation_form import FieldValue
from sophon_hosting.features.mcp.client.failure_text import MAX_ERROR, describe_failure
from sophon_hosting.features.mcp.client.http_transport import open_http
from sophon_hosting.features.mcp.client.resource_and_prompt_text import (
    contents_to_text,
    prompt_to_text,
    prompts_to_text,
    resources_to_text,
    result_to_text,
)
from sophon_hosting.features.mcp.client.server_address import ServerAddress
from sophon_hosting.features.mcp.client.server_call import ServerCall
from sophon_hosting.features.mcp.client.stdio_transport import open_stdio
from sophon_hosting.features.mcp.client.tolerant_stream import TolerantStream
from sophon_hosting.features.mcp.client.tool_definition import ToolDefinition

log = logging.getLogger("sophon")

MAX_TOOLS: Final = 200
"""Tools of a server that are read, and resources, templates and prompts; what it lists beyond is left out."""

MAX_PAGES: Final = 50

MAX_ROUNDS: Final = 10
"""Times that a server may answer one request with questions."""

JSON: Final[TypeAdapter[Any]] = TypeAdapter(Any)
"""Results stay what the server sent; the session has checked them against the protocol."""

FIRST_PAUSE_SECONDS: Final = 1.0

MAX_PAUSE_SECONDS: Final = 60.0


class ElicitationRequests:
    """Calls in flight of one connection, and the callback for the questions of its server.

    Before the protocol of 2026 a question does not say for which call it is. It goes to the turn that has calls in
    flight; if several turns have, it is declined: a question must not reach another person than the one whose call it
    is about.
    """

    def __init__(self) -> None:
        self._calls: list[ServerCall] = []

    @contextmanager
    def expect(self, call: ServerCall) -> Generator[None]:
        """Let the server ask for this call within the block; at its end, its open questions are withdrawn."""
        self._calls.append(call)
        try:
            yield
        finally:
            self._calls.remove(call)
            call.end()

    async def receive(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        """Answer a question that names no call."""
        call = self._find_call()
        return ElicitResult(action="decline") if call is None else await self.answer(call, params)

    async def answer(self, call: ServerCall, params: ElicitRequestParams) -> ElicitResult:
        """Ask the person of a call. What is no form, as a page to open, is declined."""
        if call.eliciting is None or not isinstance(params, ElicitRequestFormParams):
            log.info("a question of an MCP server was declined: it is no form, or nobody can be asked")
            return ElicitResult(action="decline")
        with anyio.CancelScope() as scope:
            call.scopes.add(scope)
            try:
                answer = await call.eliciting.ask_form(params.message, params.requested_schema)
                content: dict[str, FieldValue | None] | None = None
                if answer.content is not None:
                    content = {**answer.content}
                return ElicitResult(action=answer.action, content=content)
            except Exception as error:  # noqa: BLE001 - logged; the server must get an answer whatever happens here
                log_failure(log, error, "a question of an MCP server could not be asked")
            finally:
                call.scopes.discard(scope)
        return ElicitResult(action="cancel")

    def _find_call(self) -> ServerCall | None:
        if len({call.run_id for call in self._calls}) != 1:
            log.info("a question of an MCP server was declined: it belongs to no single turn")
            return None
        return self._calls[-1]


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What a server says about itself: version of the protocol, its software, and which features it has."""

    protocol: str
    software: str
    has_resources: bool
    has_prompts: bool


class ServerConnection:
    """An open connection; its methods end with MCPError if the server is gone, and can be cancelled."""

    def __init__(self, client: Client, stream: TolerantStream, questions: ElicitationRequests) -> None:
        self._client, self._stream, self._questions = client, stream, questions
        found, about = client.server_capabilities, client.server_info
        self.facts = ServerFacts(
            client.protocol_version,
            "" if about is None else f"{about.name} {about.version}"[:100],
            found.resources is not None,
            found.prompts is not None,
        )

    async def list_tools(self) -> tuple[list[ToolDefinition], bool]:
        """Return the tools, page by page up to `MAX_TOOLS`, and whether there are more.

        Raises MCPError, ValueError for a list that is not valid.
        """
        if self._client.server_capabilities.tools is None:
            return [], False
        self._stream.dropped = {}
        found: list[ToolDefinition] = []
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            page = await self._client.session.list_tools(params=PaginatedRequestParams(cursor=cursor))
            for each in page.tools:
                found.append(ToolDefinition.from_json(each.model_dump(by_alias=True, mode="json", exclude_none=True)))
            cursor = page.next_cursor
            if cursor is None or len(found) >= MAX_TOOLS:
                break
        return found[:MAX_TOOLS], cursor is not None or len(found) > MAX_TOOLS

    @property
    def dropped(self) -> Mapping[str, str]:
        """Names of the tools of the last list that were not valid, with the reason."""
        return self._stream.dropped

    async def call_tool(self, name: str, arguments: Mapping[str, Any], call: ServerCall) -> str:
        """Call a tool and return its result as text. Raises ToolError if the call fails.

        A call that is cancelled is cancelled at the server too.
        """
        described: dict[str, Any] = {"name": name, "arguments": dict(arguments)}
        if (traceparent := find_traceparent()) is not None:
            described["_meta"] = {HEADER: traceparent}
        params = CallToolRequestParams(**described)
        result = await self._send(CallToolRequest(params=params), call)
        text = result_to_text(result["content"], result.get("structuredContent"))
        if result.get("isError"):
            raise ToolError(text[:MAX_ERROR] or "the tool of the MCP server failed without a reason")
        return text

    async def list_resources(self, call: ServerCall) -> str:
        """Return the resources and templates as text. Raises ToolError."""
        resources, has_more = await self._list("resources", ListResourcesRequest, call)
        templates, more_templates = list[Mapping[str, Any]](), False
        try:
            templates, more_templates = await self._list("resourceTemplates", ListResourceTemplatesRequest, call)
        except ToolError as error:  # many servers have resources and no such method
            log.debug("an MCP server lists no templates of resources: %s", error)
        return resources_to_text(resources, templates, has_more=has_more or more_templates)

    async def read_resource(self, uri: str, call: ServerCall) -> str:
        """Return the contents of a resource as text. Raises ToolError."""
        request = ReadResourceRequest(params=ReadResourceRequestParams(uri=uri))
        return contents_to_text((await self._send(request, call))["contents"])

    async def list_prompts(self, call: ServerCall) -> str:
        """Return the prompts as text. Raises ToolError."""
        prompts, has_more = await self._list("prompts", ListPromptsRequest, call)
        return prompts_to_text(prompts, has_more=has_more)

    async def get_prompt(self, name: str, arguments: Mapping[str, str], call: ServerCall) -> str:
        """Return the messages of a prompt as text. Raises ToolError."""
        request = GetPromptRequest(params=GetPromptRequestParams(name=name, arguments=dict(arguments)))
        return prompt_to_text(await self._send(request, call))

    async def _list(
        self, key: str, kind: Callable[..., Request[Any, Any]], call: ServerCall
    ) -> tuple[list[Mapping[str, Any]], bool]:
        found: list[Mapping[str, Any]] = []
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            page = await self._send(kind(params=PaginatedRequestParams(cursor=cursor)), call)
            found += page.get(key, [])
            cursor = page.get("nextCursor")
            if cursor is None or len(found) >= MAX_TOOLS:
                break
        return found[:MAX_TOOLS], cursor is not None or len(found) > MAX_TOOLS

    async def _send(self, request: Request[Any, Any], call: ServerCall) -> dict[str, Any]:
        """Send a request and return its result; the questions that it depends on are asked. Raises ToolError."""
        with self._questions.expect(call):
            try:
                for _ in range(MAX_ROUNDS):
                    result = await self._client.session.send_request(request, JSON, progress_callback=call.on_progress)
                    if not is_input_required(result):
                        return cast(dict[str, Any], result)
                    needed = InputRequiredResult.model_validate(result, by_name=False)
                    answers = await self._answer(needed, call)
                    more = {"input_responses": answers, "request_state": needed.request_state}
                    request = request.model_copy(update={"params": request.params.model_copy(update=more)})
            except MCPError as error:
                raise ToolError(describe_failure(error)) from None
            except ValueError:
                raise ToolError("the MCP server answered with what is no result of such a request") from None
        raise ToolError(f"the MCP server asked more than {MAX_ROUNDS} times")

    async def _answer(self, needed: InputRequiredResult, call: ServerCall) -> InputResponses:
        answers: InputResponses = {}
        for key, asked in (needed.input_requests or {}).items():
            if asked.method != "elicitation/create":
                raise ToolError(f"the MCP server needs {asked.method}, which is not offered")
            answers[key] = await self._questions.answer(call, asked.params)
        return answers


@asynccontextmanager
async def connect(
    address: ServerAddress, wake: Callable[[], None], on_last_words: Callable[[str], None] = lambda _: None
) -> AsyncGenerator[ServerConnection]:
    """Open a connection; `wake` is called when the tools of the server have changed, or the server has ended.

    At its end `on_last_words` gets the last line that a program has written to its standard error.

    Raises OSError, MCPError and other errors, also in groups, for a server that cannot be reached.
    """
    streams: list[TolerantStream] = []
    questions = ElicitationRequests()

    async def receive(message: IncomingMessage) -> None:
        if isinstance(message, ToolListChangedNotification):
            wake()

    @asynccontextmanager
    async def open_transport() -> AsyncGenerator[Any]:
        transport = (
            open_http(address.url, address.headers or {}, seconds=address.call_seconds)
            if address.url
            else open_stdio(
                address.command,
                address.environment or {},
                folder=address.folder,
                on_end=wake,
                on_last_words=on_last_words,
            )
        )
        async with transport as (reading, writing):
            streams.append(TolerantStream(reading))
            yield streams[0], writing

    client = Client(
        open_transport(),
        mode=address.protocol,
        message_handler=receive,
        elicitation_callback=questions.receive if address.asks else None,
        cache=None,
        client_info=Implementation(name="sophon", version=__version__),
    )
    async with client:
        streams[0].session = client.session
        async with follow_changes(client, wake):
            yield ServerConnection(client, streams[0], questions)


@asynccontextmanager
async def follow_changes(client: Client, wake: Callable[[], None]) -> AsyncGenerator[None]:
    """Call `wake` at each change within the block; a handshake-era server sends notifications instead."""
    tools = client.server_capabilities.tools
    if client.protocol_version not in MODERN_PROTOCOL_VERSIONS or tools is None or not tools.list_changed:
        yield
        return
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_follow, client, wake)
        yield
        tasks.cancel_scope.cancel()


async def _follow(client: Client, wake: Callable[[], None]) -> None:
    """Listen until the server refuses or closes; a lost stream is opened again, and the tools are read then."""
    pause = FIRST_PAUSE_SECONDS
    while True:
        try:
            async with client.listen(tools_list_changed=True) as changes:
                async for _ in changes:
                    pause = FIRST_PAUSE_SECONDS
                    wake()
        except SubscriptionLost:
            await anyio.sleep(pause)
            pause = min(2 * pause, MAX_PAUSE_SECONDS)
            wake()
        except MCPError as error:
            log.info("an MCP server reports no changes of its tools: %s", error.error.message[:200])
            return
        else:
            return
