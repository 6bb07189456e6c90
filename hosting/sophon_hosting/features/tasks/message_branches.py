"""Branches that messages begin: one that replaces an earlier message, and an answer that is made again."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sophon.errors import InputError
from sophon.messages import images_from_json
from sophon.scheduled_turns import SCHEDULED_ORIGIN, strip_scheduled_prefix
from sophon.stores.sessions.contract import SessionBranch, SessionRecord, SessionSummary
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.client_api.client_message import ClientMessage
from sophon_hosting.features.sessions.copy_checks import check_is_copied, check_room, find_turn
from sophon_hosting.runs.own_text import FOREIGN_SOURCES, OWN_TEXT
from sophon_hosting.runs.run_kinds import is_direct_call
from sophon_hosting.store.runs.contract import Run

if TYPE_CHECKING:
    from sophon.attachments import Attachment


async def find_branch(caller: Caller, session_id: str, task_id: str) -> tuple[SessionBranch, "Sequence[Attachment]"]:
    """Return where a session branches off before the turn of a task, and the files of the message there.

    Raises NotFound, Busy while the turn has no outcome, Forbidden (operators, for sessions of others), InputError.
    """
    session = await _find_own(caller, session_id)
    first = (await find_turn(caller.store, session, task_id))[0]
    await check_room(caller.store, session, first.seq - 1)
    files = () if first.message is None else first.message.attachments
    return SessionBranch(session.id, first.seq - 1), files


async def build_regeneration(caller: Caller, request: ClientMessage) -> ClientMessage:
    """Return the message that begins the turn of `request.replaces` again: what the request leaves open is as it was
    then.

    Raises NotFound, Busy, Forbidden, InputError for a turn that no message of the user began.
    """
    assert request.session_id is not None
    assert request.replaces is not None
    await check_is_copied(caller, request.session_id)
    session = await _find_own(caller, request.session_id)
    turn = await find_turn(caller.store, session, request.replaces)
    message, run = turn[0].message, await _find_own_run(caller, request.replaces)
    if message is None or message.role != "user" or (run is not None and is_direct_call(run)):
        raise InputError("this turn was not begun by a message, so there is nothing to answer again")
    options: Mapping[str, Any] = {} if run is None else run.options
    return replace(
        request,
        content=_text_of(turn[0], run),
        model=request.model or (options.get("model") if caller.rights.allows("ChooseModel") else None),
        planning=request.planning or options.get("planning"),
        max_iterations=request.max_iterations or options.get("max_iterations"),
        metadata=request.metadata or {name: options[name] for name in ("temperature", "tags") if name in options},
        images=images_from_json(options["images"]) if options.get("images") else message.images,
        attachments=[each.id for each in message.attachments] or None,
        authorship=_authorship(turn, run),
    )


async def _find_own(caller: Caller, session_id: str) -> SessionSummary:
    session = await caller.sessions.find(session_id)
    if session.owner != caller.user.id:
        caller.sessions.refuse("session", session_id)
    return session


async def _find_own_run(caller: Caller, task_id: str) -> Run | None:
    """Return the run of a task of the user; None if retention has deleted it."""
    run = await caller.store.runs.find(task_id)
    return run if run is not None and run.owner == caller.user.id else None


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
