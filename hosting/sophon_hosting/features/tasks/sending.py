"""Sending: a message, or a tool call outside of a turn, becomes a task in a session of the user."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from sophon.errors import CompositionError, InputError, NotFound, SessionTaken
from sophon.messages import ToolCall
from sophon.turn.option_checks import check_metadata
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.client_api.client_errors import TooLarge, Unavailable
from sophon_hosting.client_api.client_message import MAX_CONTENT_CHARACTERS, ClientMessage
from sophon_hosting.client_api.off_the_record_errors import OtherMode
from sophon_hosting.client_api.rights import HUB_CHANNEL
from sophon_hosting.client_api.user_sessions import SESSION_TRIES, validate_id
from sophon_hosting.features.attachments.operations import resolve_attachments
from sophon_hosting.features.sessions.copy_checks import NO_BRANCHES
from sophon_hosting.features.tasks.message_branches import find_branch
from sophon_hosting.features.tools.usable_tools import list_usable_tools
from sophon_hosting.observability.trace_id import trace_id_from_traceparent
from sophon_hosting.operations.shared_subjects import SESSION
from sophon_hosting.runs.run_acceptance import RunRequest, TaskReceipt
from sophon_hosting.store.runs.contract import InboundKey

if TYPE_CHECKING:
    from sophon.attachments import Attachment

BeforeAccept: TypeAlias = Callable[[str], Awaitable[None]]
"""Awaited with the stored id of the session, after all checks and before anything is written."""


async def send(caller: Caller, message: ClientMessage) -> TaskReceipt:
    """Accept a message as a task; the receipt has the session id that the user knows.

    Creates the session if none is named or the named one does not exist. A client that can subscribe is subscribed to
    it before its first event. Raises what `accept` raises, and OtherMode, OffTheRecordLost.
    """
    caller = await choose_host(caller, message)
    async with caller.subscribing() as subscribe:
        receipt = await accept(caller, message, subscribe)
        await subscribe(receipt.session_id)  # of a repeated message, which was first sent to another session
    return replace(receipt, session_id=caller.sessions.to_client_id(receipt.session_id))


async def accept(caller: Caller, message: ClientMessage, before_accept: BeforeAccept | None = None) -> TaskReceipt:
    """Accept a message on the host of the caller; the receipt has the stored session id.

    A message that was accepted earlier gets the receipt of its task at once, also while the queue is full or the host
    is shutting down; it may name another session. Raises Unavailable, InputError, TooLarge, Forbidden (operators),
    QueueFull, OffTheRecordFull, TooManyMessages, Busy and NotFound.
    """
    if (receipt := await find_accepted(caller, message.client_message_id)) is not None:
        return receipt
    named = () if message.session_id is None else caller.sessions.possible_stored_ids(message.session_id)
    await caller.host.check_message(caller.user.id, named)
    if caller.host.is_shutting_down:
        raise Unavailable("the host is shutting down; send the message again when it is back")
    if len(message.content) > MAX_CONTENT_CHARACTERS:
        raise TooLarge("the message", len(message.content), MAX_CONTENT_CHARACTERS)
    for _ in range(SESSION_TRIES - 1):
        with suppress(SessionTaken):  # the session was deleted meanwhile, and its id is somebody else's by now
            return await _accept_into_session(caller, message, before_accept)
    return await _accept_into_session(caller, message, before_accept)


async def find_accepted(caller: Caller, client_message_id: str | None) -> TaskReceipt | None:
    """Return the receipt of a message of the user that was accepted earlier. Raises InputError for an invalid id."""
    validate_id("client_message_id", client_message_id)
    if client_message_id is None:
        return None
    return await caller.host.acceptance.find_accepted(InboundKey(HUB_CHANNEL, caller.user.id, client_message_id))


async def choose_host(caller: Caller, message: ClientMessage) -> Caller:
    """Return the caller on the host that a message is for: its session's, or that of its mode for a new session.

    Raises OtherMode, OffTheRecordLost, InputError for what conversations off the record do not offer.
    """
    validate_id("client_message_id", message.client_message_id)
    off, named = caller.off_the_record, message.session_id
    is_off = message.mode == "otr"
    if message.replaces is not None and named is None:
        raise InputError("a message that replaces another one needs the session of that one")
    if off is not None and named is not None:
        if await SESSION.on_its_host(caller, named) is off:
            if message.replaces is not None:
                raise InputError(NO_BRANCHES)
            if not is_off:
                raise OtherMode(named, is_off_the_record=True)
            return off
        await caller.check_not_lost(named)
        if is_off and await caller.may_read_session(named):
            raise OtherMode(named, is_off_the_record=False)
    if is_off and off is None:
        raise InputError("this host has no conversations off the record")
    return off if is_off and off is not None else caller


def check_call(caller: Caller, call: ToolCall) -> None:
    """Check a tool call that is no part of a turn, before it becomes a run.

    Raises NotFound for a tool that the user may not use like for one that does not exist, InvalidArguments, and
    InputError if the chain of this host runs no tools.
    """
    tool = next((each for each in list_usable_tools(caller) if each.name == call.name), None)
    if tool is None:
        raise NotFound("tool", call.name)
    if tool.nested:
        raise InputError(f"{call.name} runs a turn of its own: send a message instead")
    tool.schema.validate(tool.name, call.arguments)
    try:
        caller.host.direct_chains.find(caller.host.chain)
    except CompositionError as error:
        raise InputError(f"this host runs no tools outside of a turn: {error}") from error


async def _accept_into_session(
    caller: Caller, message: ClientMessage, before_accept: BeforeAccept | None
) -> TaskReceipt:
    attachments: Sequence[Attachment] = ()
    if message.attachments:
        attachments = await resolve_attachments(caller, message.attachments)
    session_id, branch = message.session_id, None
    if session_id is not None and message.replaces is not None:
        branch, files = await find_branch(caller, session_id, message.replaces)
        session_id = caller.new_session_id()
        if message.attachments is None:  # the files of the message that is replaced stay, unless others are named
            attachments = await resolve_attachments(caller, [each.id for each in files])
    elif session_id is None:  # created with the task, so that a repeated message leaves no empty session
        session_id = caller.new_session_id()
    else:
        session_id = (await caller.sessions.find_or_create_own(session_id, has_message=True)).id
    if before_accept is not None:
        await before_accept(session_id)
    temperature, tags = check_metadata(message.metadata)
    return await caller.host.accept(
        RunRequest(
            text=message.content,
            session_id=session_id,
            owner=caller.user.id,
            channel=HUB_CHANNEL,
            account=caller.user.id,
            external_id=message.client_message_id,
            stream=message.stream,
            model=message.model,
            planning=message.planning,
            max_iterations=message.max_iterations,
            temperature=temperature,
            tags=tags,
            trace=message.trace or trace_id_from_traceparent(message.traceparent),
            traceparent=message.traceparent,
            instructions=message.instructions,
            images=message.images,
            attachments=attachments,
            call=message.call,
            branch=branch,
            origin=message.authorship,
            session_owner=caller.user.id,
        )
    )
