"""Branches and copies of a user's sessions: edit a message, make an answer again, fork a conversation."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sophon.errors import Busy, InputError, NotFound
from sophon.messages import images_from_json
from sophon.schedules.turn_mark import SCHEDULED_ORIGIN, strip_scheduled_prefix
from sophon.stores.runs.contract import Run
from sophon.stores.sessions.branches import BranchPoint, list_branch_points
from sophon.stores.sessions.contract import SessionBranch, SessionRecord, SessionSummary
from sophon.stores.sessions.copy_limits import check_room_for_copy
from sophon_hosting.client_api.areas.sessions import SessionOperations
from sophon_hosting.client_api.client_message import ClientMessage
from sophon_hosting.client_api.conversation_mode import by_session
from sophon_hosting.run_authorship import FOREIGN_SOURCES, OWN_TEXT, is_direct_call

if TYPE_CHECKING:
    from sophon.attachments import Attachment

_AFTER_THE_LAST = 2**62
"""A seq that no record reaches."""

NO_BRANCHES = "a conversation off the record is not copied and has no branches: nothing of it is stored"


class BranchOperations(SessionOperations):
    """The operations that copy a session, each with its permission check.

    A branch begins before the message of a turn and belongs to the same conversation; only the owner of a session makes
    one, because it is made by a message. A fork is a conversation of its own.
    """

    @by_session
    async def list_branches(self, session_id: str) -> list[BranchPoint]:
        """Return where the branches of a session part, with the ids that the user knows. Raises NotFound."""
        self.rights.require_scope("Read")
        session = await self.sessions.find(session_id)
        points = list_branch_points(session.id, await self.store.sessions.list_family(session.id))
        return [replace(each, options=tuple(map(self.sessions.to_client_id, each.options))) for each in points]

    async def fork_session(
        self,
        session_id: str,
        new_session_id: str | None = None,
        *,
        up_to_seq: int | None = None,
        task_id: str | None = None,
    ) -> SessionSummary:
        """Copy a session, completely, up to a seq or to the end of a task; the owner stays.

        Raises NotFound, InputError, OtherMode or OffTheRecordLost for a new id that is off the record, and Busy if a
        part that is copied belongs to a task without an outcome.
        """
        self.rights.require("Chat")
        await self._check_on_the_record(session_id)
        if new_session_id is not None:
            await self.check_on_the_record(new_session_id)
        source = await self.sessions.find(session_id)
        if task_id is not None:
            up_to_seq = (await self._find_turn(source, task_id))[-1].seq
        for run in await self.store.runs.list_unfinished(source.id):
            begun = await self.store.sessions.list_turn(source.id, run.id)
            if begun and (up_to_seq is None or up_to_seq >= begun[0].seq):
                raise _unfinished(run.id)
        await self._check_room(source, up_to_seq)
        copy = await self.sessions.choose_copy_id(new_session_id or self.new_session_id(), source.owner)
        await self.store.sessions.fork(source.id, copy, upto=up_to_seq)
        return self.sessions.to_client_session(await self.store.sessions.get(copy))

    async def build_regeneration(self, request: ClientMessage) -> ClientMessage:
        """Return the message that begins the turn of `request.replaces` again: what the request leaves open is as it
        was then.

        Raises NotFound, Busy, Forbidden, InputError for a turn that no message of the user began.
        """
        assert request.session_id is not None
        assert request.replaces is not None
        await self._check_on_the_record(request.session_id)
        session = await self._find_own(request.session_id)
        turn = await self._find_turn(session, request.replaces)
        message, run = turn[0].message, await self._find_own_run(request.replaces)
        if message is None or message.role != "user" or (run is not None and is_direct_call(run)):
            raise InputError("this turn was not begun by a message, so there is nothing to answer again")
        options: Mapping[str, Any] = {} if run is None else run.options
        return replace(
            request,
            content=_text_of(turn[0], run),
            model=request.model or (options.get("model") if self.rights.allows("ChooseModel") else None),
            planning=request.planning or options.get("planning"),
            max_iterations=request.max_iterations or options.get("max_iterations"),
            metadata=request.metadata or {name: options[name] for name in ("temperature", "tags") if name in options},
            images=images_from_json(options["images"]) if options.get("images") else message.images,
            attachments=[each.id for each in message.attachments] or None,
            authorship=_authorship(turn, run),
        )

    async def find_branch(self, session_id: str, task_id: str) -> tuple[SessionBranch, "Sequence[Attachment]"]:
        """Return where a session branches off before the turn of a task, and the files of the message there.

        Raises NotFound, Busy while the turn has no outcome, Forbidden (operators, for sessions of others), InputError.
        """
        await self._check_on_the_record(session_id)
        session = await self._find_own(session_id)
        first = (await self._find_turn(session, task_id))[0]
        await self._check_room(session, first.seq - 1)
        files = () if first.message is None else first.message.attachments
        return SessionBranch(session.id, first.seq - 1), files

    async def _check_room(self, source: SessionSummary, up_to_seq: int | None) -> None:
        last = await self.store.sessions.list_records(source.id, before=_AFTER_THE_LAST, limit=1)
        records = last[0].seq if last else 0
        await check_room_for_copy(
            self.store.sessions, source.owner, records if up_to_seq is None else min(up_to_seq, records)
        )

    async def _find_own(self, session_id: str) -> SessionSummary:
        session = await self.sessions.find(session_id)
        if session.owner != self.user.id:
            self.sessions.refuse("session", session_id)
        return session

    async def _find_own_run(self, task_id: str) -> Run | None:
        """Return the run of a task of the user; None if retention has deleted it."""
        run = await self.store.runs.find(task_id)
        return run if run is not None and run.owner == self.user.id else None

    async def _find_turn(self, session: SessionSummary, task_id: str) -> Sequence[SessionRecord]:
        """Return the records of a task in a session, which may be a copy. Raises NotFound, Busy."""
        turn = await self.store.sessions.list_turn(session.id, task_id) if task_id else []
        run = await self.store.runs.find(task_id)
        if run is not None and not run.is_finished and (turn or run.session_id == session.id):
            raise _unfinished(task_id)
        if not turn:
            raise NotFound("task", task_id)
        return turn

    async def _check_on_the_record(self, session_id: str) -> None:
        if self.operations_off_the_record is not None and await self.operations_off_the_record.has_session(session_id):
            raise InputError(NO_BRANCHES)


def _unfinished(task_id: str) -> Busy:
    return Busy(f"task {task_id!r} has no outcome yet; stop it, or wait until it has ended")


def _text_of(record: SessionRecord, run: Run | None) -> str:
    """Return the text of the message as it was sent; the record may have it redacted."""
    assert record.message is not None
    text = record.message.content if run is None else run.text
    return strip_scheduled_prefix(text) if SCHEDULED_ORIGIN in record.data else text


def _authorship(turn: Sequence[SessionRecord], run: Run | None) -> dict[str, Any]:
    """Return what of the message others wrote. Of a run that is gone, the sources of the whole turn are known."""
    if run is not None:
        return {name: run.origin[name] for name in (OWN_TEXT, FOREIGN_SOURCES) if name in run.origin}
    sources = [each for record in turn for each in record.data.get("untrusted_sources", ())]
    return {FOREIGN_SOURCES: list(dict.fromkeys(sources))} if sources else {}
