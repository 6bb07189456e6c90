"""A stored conversation, for people and for programs."""

from collections.abc import Iterable, Iterator
from typing import Any

from sophon.stores.contracts import SessionRecord, SessionSummary
from sophon.tools.fencing import unfence
from sophon_hosting.cli.narration import arguments_text
from sophon_hosting.cli.visible import on_one_line, visible

RESULT_WIDTH = 100


def summary_json(summary: SessionSummary) -> dict[str, Any]:
    """A session in a list; times in ISO 8601."""
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
    """One entry of the log, whole."""
    return {
        "seq": record.seq,
        "at": record.at.isoformat() if record.at else None,
        "kind": record.kind,
        "run_id": record.run_id,
        "message": record.message.to_json() if record.message else None,
        "data": dict(record.data),
    }


def told(records: Iterable[SessionRecord]) -> Iterator[str]:
    """The conversation in lines: who said what, the tools in between, and how turns ended that have no answer."""
    for record in records:
        yield from _told(record)


def _told(record: SessionRecord) -> Iterator[str]:
    message = record.message
    if record.kind == "compaction":
        yield f"  · the messages before are summarised for the model ({record.data.get('covers')} of them)"
    elif message is None:
        why = record.data.get("message") or record.data.get("reason") or ""
        yield f"  · the turn was {record.kind}{': ' if why else ''}{on_one_line(str(why))}"
    elif message.role == "tool":
        yield f"  → {on_one_line(unfence(message.content), RESULT_WIDTH)}"
    else:
        if message.content:
            yield f"> {visible(message.content)}" if message.role == "user" else visible(message.content)
        yield from (
            f"  · {call.name} ({arguments_text(call.arguments)})".removesuffix(" ()") for call in message.tool_calls
        )
