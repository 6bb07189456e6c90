"""What the records of a session's log mean: the rules that every store shares."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from difflib import get_close_matches

from sophon.errors import InputError, NotFound
from sophon.messages import Message
from sophon.stores.contracts import Compaction, SessionRecord


def stamped(records: Sequence[SessionRecord], last_seq: int, at: datetime) -> list[SessionRecord]:
    """The store's own copies, numbered from `last_seq + 1`; ValueError for a record that history could not read."""
    own: list[SessionRecord] = []
    for seq, record in enumerate(records, start=last_seq + 1):
        if record.message is None or record.kind == "compaction":
            _check(record)
        data = dict(record.data) if record.data else {}
        own.append(SessionRecord(record.kind, record.run_id, record.message, data, seq, at))
    return own


def copied(record: SessionRecord) -> SessionRecord:
    """The same record for somebody else's hands; the message is frozen and shared."""
    return SessionRecord(record.kind, record.run_id, record.message, dict(record.data), seq=record.seq, at=record.at)


def message_of(record: SessionRecord) -> Message | None:
    """The message that the record adds to the conversation."""
    return record.message if record.kind == "message" else None


def compaction_of(record: SessionRecord) -> Compaction | None:
    """The compaction that the record holds."""
    if record.kind != "compaction" or record.message is None:
        return None
    return Compaction(record.message, int(record.data["covers"]))


def is_said(record: SessionRecord) -> bool:
    """Whether a person or the agent said it: no tool result, no note of the framework, no call without words."""
    message = record.message
    return (
        record.kind == "message"
        and message is not None
        and message.role != "tool"
        and message.role != "system"
        and message.content != ""
        and not message.origin
    )


def check_cut(upto: int | None) -> None:
    """Raise InputError for a cut that would leave a fork without a record: there is no session without one."""
    if upto is not None and upto < 1:
        raise InputError(f"nothing is left of a session up to seq {upto}; the first seq is 1")


def no_session(session_id: str, known: Iterable[str]) -> NotFound:
    """The error for a session that does not exist, with the near ids among the known ones."""
    return NotFound("session", session_id, get_close_matches(session_id, list(known), n=3))


def _check(record: SessionRecord) -> None:
    kind = record.kind
    if record.message is None and kind in ("message", "compaction"):
        raise ValueError(f"a record of kind {kind!r} needs a message")
    if kind == "compaction" and not isinstance(record.data.get("covers"), int):
        raise ValueError("a record of kind 'compaction' needs data['covers'], the number of messages it stands for")
