"""Messages of a user: accepted into a session of the user's own, on or off the record."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace

from sophon.errors import CompositionError, InputError, NotFound, SessionTaken
from sophon.messages import ToolCall
from sophon.stores.runs.contract import InboundKey
from sophon.turn_options import check_metadata
from sophon_hosting.client_api.areas.attachments import UserAttachments
from sophon_hosting.client_api.areas.branches import NO_BRANCHES, BranchOperations
from sophon_hosting.client_api.areas.tools import UserTools
from sophon_hosting.client_api.client_errors import TooLarge, Unavailable
from sophon_hosting.client_api.client_message import MAX_CONTENT_CHARACTERS, ClientMessage
from sophon_hosting.client_api.conversation_mode import OffTheRecordLost, OtherMode
from sophon_hosting.client_api.rights import HUB_CHANNEL
from sophon_hosting.client_api.user_sessions import validate_id
from sophon_hosting.host import RunRequest, TaskReceipt
from sophon_hosting.observability.trace_id import trace_id_from_traceparent
from sophon_hosting.off_the_record.session_ids import is_generated_id

SESSION_TRIES = 5
"""How often a session is looked up that others delete and take at the same time."""


class MessageOperations(BranchOperations):
    """The operations that make a message, or a tool call outside of a turn, a task."""

    @property
    def attachments(self) -> UserAttachments:
        """The files of the user."""
        return UserAttachments(self)

    async def send_message(self, message: ClientMessage) -> TaskReceipt:
        """Accept a message; create the session if none is named or the named one does not exist.

        Raises Unavailable, InputError, TooLarge, Forbidden (operators), QueueFull, NotFound for an unknown model.
        """
        receipt = await self.accept_message(message)
        return replace(receipt, session_id=self.sessions.to_client_id(receipt.session_id))

    async def regenerate(self, request: ClientMessage) -> TaskReceipt:
        """Answer the message of a task again, in a new branch; see `build_regeneration` and `send_message`."""
        return await self.send_message(await self.complete_regeneration(request))

    async def complete_regeneration(self, request: ClientMessage) -> ClientMessage:
        """Return what `build_regeneration` returns; of a request that was accepted before, the request itself."""
        self.rights.require("Chat")
        validate_id("client_message_id", request.client_message_id)
        if request.client_message_id is not None:
            key = InboundKey(HUB_CHANNEL, self.user.id, request.client_message_id)
            if await self.host.acceptance.find_accepted(key) is not None:
                return request  # its receipt is returned, whatever became of the turn
        return await self.build_regeneration(request)

    async def accept_message(
        self, message: ClientMessage, *, before_accept: Callable[[str], Awaitable[None]] | None = None
    ) -> TaskReceipt:
        """Do what `send_message` does; the receipt has the stored session id.

        A message that was accepted earlier gets the receipt of its task at once, also while the queue is full or the
        host is shutting down; it may name another session. Otherwise `before_accept` is awaited with the stored session
        id, after the permission check and before anything is written.
        """
        if message.call is None:
            self.rights.require("Chat")
        else:
            self.check_call(message.call)
        if message.model is not None:
            self.rights.require("ChooseModel")
        validate_id("client_message_id", message.client_message_id)
        if await self.is_for_off_the_record(message):
            return await self._sessions_off_the_record().accept_message(message, before_accept=before_accept)
        if message.client_message_id is not None:
            key = InboundKey(HUB_CHANNEL, self.user.id, message.client_message_id)
            if (receipt := await self.host.acceptance.find_accepted(key)) is not None:
                return receipt
        if self.host.is_shutting_down:
            raise Unavailable("the host is shutting down; send the message again when it is back")
        if len(message.content) > MAX_CONTENT_CHARACTERS:
            raise TooLarge("the message", len(message.content), MAX_CONTENT_CHARACTERS)
        for _ in range(SESSION_TRIES - 1):
            with suppress(SessionTaken):  # the session was deleted meanwhile, and its id is somebody else's by now
                return await self._accept_into_session(message, before_accept)
        return await self._accept_into_session(message, before_accept)

    def check_call(self, call: ToolCall) -> None:
        """Check a tool call that is no part of a turn, before it becomes a run.

        Raises LevelNeeded, ScopeNeeded, NotFound for a tool that the user may not use like for one that does not exist,
        InvalidArguments, and InputError if the chain of this host runs no tools.
        """
        self.rights.require_calls()
        tool = next((each for each in UserTools(self).list() if each.name == call.name), None)
        if tool is None:
            raise NotFound("tool", call.name)
        if tool.nested:
            raise InputError(f"{call.name} runs a turn of its own: send a message instead")
        tool.schema.validate(tool.name, call.arguments)
        try:
            self.host.direct_chains.find(self.host.chain)
        except CompositionError as error:
            raise InputError(f"this host runs no tools outside of a turn: {error}") from error

    async def is_for_off_the_record(self, message: ClientMessage) -> bool:
        """Return whether a message is for the host off the record. Raises OtherMode, OffTheRecordLost."""
        off, named = self.operations_off_the_record, message.session_id
        if message.replaces is not None and named is None:
            raise InputError("a message that replaces another one needs the session of that one")
        if off is None or named is None:
            return message.mode == "otr"
        if await off.has_session(named):
            if message.replaces is not None:
                raise InputError(NO_BRANCHES)
            if message.mode != "otr":
                raise OtherMode(named, is_off_the_record=True)
            return True
        is_known = await self.has_session(named)
        if is_generated_id(named) and not is_known:
            raise OffTheRecordLost(named)
        if message.mode == "otr" and is_known:
            raise OtherMode(named, is_off_the_record=False)
        return message.mode == "otr"

    async def _accept_into_session(
        self, message: ClientMessage, before_accept: Callable[[str], Awaitable[None]] | None
    ) -> TaskReceipt:
        attachments = await self.attachments.resolve(message.attachments) if message.attachments else ()
        session_id, branch = message.session_id, None
        if session_id is not None and message.replaces is not None:
            branch, files = await self.find_branch(session_id, message.replaces)
            session_id = self.new_session_id()
            if message.attachments is None:  # the files of the message that is replaced stay, unless others are named
                attachments = await self.attachments.resolve([each.id for each in files])
        elif session_id is None:  # created with the task, so that a repeated message leaves no empty session
            session_id = self.new_session_id()
        else:
            session_id = (await self.sessions.find_or_create_own(session_id, has_message=True)).id
        if before_accept is not None:
            await before_accept(session_id)
        temperature, tags = check_metadata(message.metadata)
        return await self.host.accept(
            RunRequest(
                text=message.content,
                session_id=session_id,
                owner=self.user.id,
                channel=HUB_CHANNEL,
                account=self.user.id,
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
                session_owner=self.user.id,
            )
        )
