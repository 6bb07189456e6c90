"""Export of a stored session: as JSON, and as a plain-text transcript."""

from collections.abc import Iterable, Iterator
from typing import Any

from sophon.stores.contracts import SessionRecord, SessionSummary
from sophon.tools.fencing import unfence
from sophon_hosting.cli.narration import arguments_text
from sophon_hosting.cli.visible import on_one_line, visible

RESULT_WIDTH = 100


def summary_json(summary: SessionSummary) -> dict[str, Any]:
    """Return the JSON of a session summary; times in ISO 8601."""
    return {
        "id": summary.id,
        "title": summary.title,
        "owner": summary.owner,
        "messages": summary.messages,
        "created_at": summary.created_at.isoformat(),
        "updated_at": summary.updated_at.isoformat(),
        "model": summary.model,
    }


def record_json(record: SessionRecord) -> dict[str, Any]:
    """Return the JSON of one session record, complete; times in ISO 8601."""
    return {
        "seq": record.seq,
        "at": record.at.isoformat() if record.at else None,
        "kind": record.kind,
        "run_id": record.run_id,
        "message": record.message.to_json() if record.message else None,
        "data": dict(record.data),
    }


def told(records: Iterable[SessionRecord]) -> Iterator[str]:
    """Yield the transcript of a session: messages, tool calls and results, and the outcome of turns without an answer.

    User messages begin with `> `; control characters are escaped.
    """
    for record in records:
        yield from _record_lines(record)


def _record_lines(record: SessionRecord) -> Iterator[str]:
    message = record.message
    if record.kind == "compaction":
        yield f"  · the {record.data.get('covers')} messages above are summarised for the model"
    elif message is None:
        reason = record.data.get("message") or record.data.get("reason") or ""
        yield f"  · the turn was {record.kind}{': ' if reason else ''}{on_one_line(str(reason))}"
    elif message.role == "tool":
        yield f"  → {on_one_line(unfence(message.content), RESULT_WIDTH)}"
    else:
        if message.content:
            yield f"> {visible(message.content)}" if message.role == "user" else visible(message.content)
        yield from (
            f"  · {call.name} ({arguments_text(call.arguments)})".removesuffix(" ()") for call in message.tool_calls
        )
