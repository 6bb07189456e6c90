"""Operations that begin a task: a message, an answer that is made again, a tool call outside of a turn."""

from dataclasses import replace
from typing import Annotated, Any

from sophon.errors import Busy, InvalidArguments, NotFound, StoreUnavailable
from sophon.messages import ToolCall
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.client_api.client_errors import Forbidden, TooLarge, Unavailable
from sophon_hosting.client_api.client_message import ClientMessage, Mode
from sophon_hosting.client_api.off_the_record_errors import OffTheRecordLost, OtherMode
from sophon_hosting.features.tasks.message_branches import build_regeneration
from sophon_hosting.features.tasks.results import TaskReceiptView, receipt_to_json
from sophon_hosting.features.tasks.sending import check_call, find_accepted, send
from sophon_hosting.off_the_record.errors import OffTheRecordFull
from sophon_hosting.operations.request import Doc, Needs, Request
from sophon_hosting.operations.table import Table
from sophon_hosting.queue.errors import QueueFull, TooManyMessages

table = Table("tasks")

ClientMessageId = Annotated[str | None, Doc("Idempotency key: a repeated one returns the same task.")]
Stream = Annotated[bool, Doc("Whether the text is streamed as it is produced.")]
Model = Annotated[str | None, Needs("ChooseModel"), Doc("Model of this turn; by default routing chooses it.")]
Planning = Annotated[str | None, Doc("Planning mode of this turn: auto, always or never.")]

ACCEPTANCE_ERRORS = (
    Busy,
    Forbidden,
    NotFound,
    OffTheRecordLost,
    OtherMode,
    QueueFull,
    StoreUnavailable,
    TooManyMessages,
    Unavailable,
)


class MessageFields(Request):
    """A message to the agent."""

    content: str
    client_message_id: ClientMessageId = None
    stream: Stream = True
    model: Model = None
    planning: Planning = None
    max_iterations: Annotated[int | None, Doc("Most rounds of tool calls of this turn.")] = None
    metadata: Annotated[
        dict[str, Any] | None, Doc("`temperature`, a number from 0 to 2, and `tags`, a list of texts.")
    ] = None
    mode: Annotated[Mode, Doc("`otr`: off the record; as the session is from its start.")] = "normal"
    attachments: Annotated[list[str] | None, Doc("Ids of uploaded files.")] = None
    traceparent: Annotated[str | None, Doc("W3C trace context; over HTTP the header says it, too.")] = None
    replaces: Annotated[str | None, Doc("Task whose message is replaced, in a new branch.")] = None


class NewMessage(MessageFields):
    """Without `session_id`, to a new session. With `replaces`, a task of the session, the message takes the place of
    that task's: it begins a branch, whose id is the `session_id` of the result.
    """

    session_id: str | None = None


class SessionMessage(MessageFields):
    """To the session in the path; otherwise as a new message."""

    session_id: str


class Regeneration(Request):
    """What is left out is as it was before."""

    session_id: str
    task_id: str
    client_message_id: ClientMessageId = None
    stream: Stream = True
    model: Model = None
    planning: Planning = None


class NewToolCall(Request):
    """Call of a tool; without `session_id`, in a new session."""

    name: Annotated[str, Doc("Name of a tool.")]
    arguments: dict[str, Any] = {}  # noqa: RUF012 - validation copies defaults
    session_id: str | None = None
    client_message_id: ClientMessageId = None


@table.operation(
    "POST /api/tasks",
    needs="Chat",
    event="send_message",
    status=202,
    statuses=(200,),
    ok=True,
    errors=(*ACCEPTANCE_ERRORS, TooLarge, OffTheRecordFull),
    example={"content": "What is on my calendar today?", "session_id": "work", "client_message_id": "m-1"},
)
async def send_message(caller: Caller, request: NewMessage) -> TaskReceiptView:
    """Send a message to the agent; it is stored before the answer, and runs as a task."""
    return await _begin(caller, ClientMessage(**request.to_dict()))


@table.operation(
    "POST /api/sessions/{session_id}/messages",
    needs="Chat",
    status=202,
    statuses=(200,),
    ok=True,
    errors=(*ACCEPTANCE_ERRORS, TooLarge, OffTheRecordFull),
    example={"content": "And tomorrow?"},
)
async def send_session_message(caller: Caller, request: SessionMessage) -> TaskReceiptView:
    """Send a message to the session; it is created if it does not exist."""
    return await _begin(caller, ClientMessage(**request.to_dict()))


@table.operation(
    "POST /api/sessions/{session_id}/tasks/{task_id}/regenerate",
    needs="Chat",
    event="regenerate",
    status=202,
    statuses=(200,),
    ok=True,
    errors=ACCEPTANCE_ERRORS,
    example={"planning": "always"},
)
async def regenerate(caller: Caller, request: Regeneration) -> TaskReceiptView:
    """Answer the message of a finished task again, in a new branch of the session."""
    fields = request.to_dict()
    message = ClientMessage(content="", replaces=fields.pop("task_id"), **fields)
    # Of a request that was accepted before, its receipt is returned, whatever became of the turn.
    if await find_accepted(caller, message.client_message_id) is None:
        message = await build_regeneration(caller, message)
    return await _begin(caller, message)


@table.operation(
    "POST /api/tools/{name}/call",
    needs="CallTools",
    status=202,
    statuses=(200,),
    ok=True,
    errors=(*ACCEPTANCE_ERRORS, InvalidArguments),
    example={"arguments": {"path": "notes.md"}, "session_id": "work"},
)
async def call_tool(caller: Caller, request: NewToolCall) -> TaskReceiptView:
    """Call a tool outside of a conversation; the call is stored before the answer, and runs as a task."""
    call = ToolCall("", request.name, request.arguments)
    check_call(caller, call)
    message = ClientMessage(
        f"Call of the tool {request.name}",  # without the arguments: nothing says that a person wrote them
        session_id=request.session_id,
        client_message_id=request.client_message_id,
        stream=False,
        call=call,
    )
    return await _begin(caller, message)


async def _begin(caller: Caller, message: ClientMessage) -> TaskReceiptView:
    connection = caller.connection
    if message.traceparent is None:
        message = replace(message, trace=connection.trace or None, traceparent=connection.traceparent)
    receipt = await send(caller, message)
    if not receipt.created:
        caller.reply.status = 200
    return receipt_to_json(receipt, message.mode)
