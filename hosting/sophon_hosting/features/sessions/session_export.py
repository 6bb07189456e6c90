"""Export of a stored session: as JSON, and as a plain-text transcript."""

from collections.abc import Iterable, Iterator
from typing import Any

from sophon._python.lazy_typed_dict import TypedDict
from sophon.attachments import describe_attachment
from sophon.scheduled_turns import SCHEDULED_ORIGIN, strip_scheduled_prefix
from sophon.stores.sessions.contract import RecordKind, SessionRecord, SessionSummary
from sophon.tools.untrusted_text import unfence_text
from sophon_hosting.rendering.control_characters import escape_control_characters, to_single_line
from sophon_hosting.rendering.value_formatting import format_arguments

RESULT_CHARACTERS = 100


class ExportedSummary(TypedDict):
    """A session in an export, as it is stored."""

    id: str
    title: str
    shown_title: str
    pinned: bool
    archived: bool
    owner: str
    messages: int
    created_at: str
    updated_at: str
    model: str | None
    planning: str | None
    forked_from: str | None
    forked_at: int | None
    family: str | None


class ExportedRecord(TypedDict):
    """A record of a session in an export, complete; its message as `Message.to_json` returns it."""

    seq: int
    at: str | None
    kind: RecordKind
    run_id: str
    message: dict[str, Any] | None
    data: dict[str, Any]


def session_summary_to_json(summary: SessionSummary) -> ExportedSummary:
    """Return the JSON of a session summary; times in ISO 8601."""
    return {
        "id": summary.id,
        "title": summary.title,
        "shown_title": summary.shown_title,
        "pinned": summary.pinned,
        "archived": summary.archived,
        "owner": summary.owner,
        "messages": summary.message_count,
        "created_at": summary.created_at.isoformat(),
        "updated_at": summary.updated_at.isoformat(),
        "model": summary.model,
        "planning": summary.planning,
        "forked_from": summary.forked_from,
        "forked_at": summary.forked_at,
        "family": summary.family,
    }


def session_record_to_json(record: SessionRecord) -> ExportedRecord:
    """Return the JSON of one session record, complete; times in ISO 8601."""
    return {
        "seq": record.seq,
        "at": record.at.isoformat() if record.at else None,
        "kind": record.kind,
        "run_id": record.run_id,
        "message": record.message.to_json() if record.message else None,
        "data": dict(record.data),
    }


def format_transcript(records: Iterable[SessionRecord]) -> Iterator[str]:
    """Yield the transcript of a session: messages, tool calls and results, and the outcome of turns without an answer.

    User messages begin with `> `; control characters are escaped.
    """
    for record in drop_past_suspensions(records):
        yield from _record_lines(record)


def drop_past_suspensions(records: Iterable[SessionRecord]) -> list[SessionRecord]:
    """Return the records without the suspensions of turns that went on afterwards: they wait for nobody any more."""
    kept: list[SessionRecord] = []
    later: set[str | None] = set()
    for record in reversed(list(records)):
        if record.kind != "suspended" or record.run_id not in later:
            kept.append(record)
        later.add(record.run_id)
    return kept[::-1]


def describe_outcome(record: SessionRecord) -> str:
    """Return how a turn without an answer ended, in one line; a turn that still waits has not ended."""
    if record.kind == "suspended":
        return "the turn waits for a decision"
    reason = to_single_line(str(record.data.get("message") or record.data.get("reason") or ""))
    return f"the turn was {record.kind}{': ' if reason else ''}{reason}"


def _text_of_user(record: SessionRecord, text: str) -> str:
    """Return the text of a message; of one that a schedule has sent, without what only the model is told."""
    return f"⏰ {strip_scheduled_prefix(text)}" if SCHEDULED_ORIGIN in record.data else text


def _record_lines(record: SessionRecord) -> Iterator[str]:
    message = record.message
    if record.kind == "compaction":
        yield f"  · the {record.data.get('covers')} messages above are summarised for the model"
    elif message is None:
        if record.data.get("shown"):
            yield escape_control_characters(str(record.data["shown"]))
        yield f"  · {describe_outcome(record)}"
    elif message.role == "tool":
        yield f"  → {to_single_line(unfence_text(message.content), RESULT_CHARACTERS)}"
    else:
        if message.reasoning is not None and message.reasoning.text.strip():
            yield f"  · reasoning: {to_single_line(message.reasoning.text, RESULT_CHARACTERS)}"
        if message.content:
            yield (
                f"> {escape_control_characters(_text_of_user(record, message.content))}"
                if message.role == "user"
                else escape_control_characters(message.content)
            )
        yield from (f"  · file: {to_single_line(describe_attachment(each))}" for each in message.attachments)
        yield from (
            f"  · {call.name} ({format_arguments(call.arguments)})".removesuffix(" ()") for call in message.tool_calls
        )
