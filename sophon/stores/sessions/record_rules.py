"""Rules for session records that every store shares: numbering, validation, conversion."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from difflib import get_close_matches

from sophon.errors import Busy, InputError, NotFound
from sophon.messages import Compaction, to_canonical_json
from sophon.stores.sessions.contract import SessionRecord


def assign_seqs(
    records: Sequence[SessionRecord], last_seq: int, at: datetime, *, keeps_times: bool = False
) -> list[SessionRecord]:
    """Return the store's own copies, numbered from `last_seq + 1`. Raises ValueError for an invalid record.

    All are of the time `at`; with `keeps_times` only those that have none.
    """
    own: list[SessionRecord] = []
    for record in records:
        if record.message is None or record.kind == "compaction":
            _validate(record)
        last_seq += 1
        data = dict(record.data) if record.data else {}
        own_at = (record.at or at) if keeps_times else at
        own.append(SessionRecord(record.kind, record.run_id, record.message, data, last_seq, own_at))
    return own


def copy_record(record: SessionRecord) -> SessionRecord:
    """Return a copy with its own `data`; the frozen message is shared."""
    return SessionRecord(record.kind, record.run_id, record.message, dict(record.data), seq=record.seq, at=record.at)


def compaction_from_record(record: SessionRecord) -> Compaction | None:
    """Return the compaction that the record holds, or None."""
    if record.kind != "compaction" or record.message is None:
        return None
    return Compaction(record.message, int(record.data["covers"]))


def take_up_to_bytes(records: Iterable[SessionRecord], max_bytes: int | None) -> Iterator[SessionRecord]:
    """Yield records until they have `max_bytes` of JSON together; the last one may exceed it."""
    remaining = max_bytes
    for record in records:
        yield record
        if remaining is not None:
            remaining -= json_bytes(record)
            if remaining <= 0:
                return


def json_bytes(record: SessionRecord) -> int:
    """Return the size of a record's message and data as JSON."""
    message = record.message.to_json() if record.message is not None else None
    return len(to_canonical_json(message)) + len(to_canonical_json(record.data))


def is_conversational(record: SessionRecord) -> bool:
    """Return whether user or assistant wrote it: no tool result, no framework message, no tool call without text."""
    message = record.message
    return (
        record.kind == "message"
        and message is not None
        and message.role != "tool"
        and message.role != "system"
        and message.content != ""
        and not message.origin
    )


def first_text_of_user(records: Sequence[SessionRecord]) -> str:
    """Return the first text that a person wrote, "" if there is none."""
    for each in records:
        if each.message is not None and each.message.role == "user" and is_conversational(each):
            return each.message.content
    return ""


def check_fork_position(up_to: int | None, *, branch: bool = False) -> None:
    """Raise InputError for a fork position below 1, for a branch below 0: it may begin with the first message."""
    if up_to is not None and up_to < (0 if branch else 1):
        raise InputError(f"a session cannot be forked up to seq {up_to}; the first seq is 1")


def session_not_found(session_id: str, known: Iterable[str]) -> NotFound:
    """Return the NotFound error for an unknown session, with similar ids among `known`."""
    return NotFound("session", session_id, get_close_matches(session_id, list(known), n=3))


def session_busy(session_id: str) -> Busy:
    """Return the Busy error for a session of which a run has no outcome."""
    return Busy(f"a task of session {session_id!r} has no outcome yet; delete the session when it has ended")


def _validate(record: SessionRecord) -> None:
    kind = record.kind
    if record.message is None and kind in ("message", "compaction"):
        raise ValueError(f"a record of kind {kind!r} needs a message")
    if kind == "compaction" and not isinstance(record.data.get("covers"), int):
        raise ValueError("a record of kind 'compaction' needs data['covers'], the number of messages it replaces")
