"""What a host shows of what it keeps, as plain data: the same over Socket.IO and HTTP."""

from datetime import datetime
from typing import Any

from sophon.messages import Usage
from sophon.stores.contracts import ApprovalRecord, MemoryEntry, SessionRecord, SessionSummary, UsageTotal
from sophon.stores.event_contracts import LoggedEvent
from sophon.stores.run_contracts import Run
from sophon_hosting.approvals import task_of
from sophon_hosting.events.frame import replayed
from sophon_hosting.queue.contract import DeadLetter, QueueStatistics

DESCRIPTION_CHARACTERS = 100
"""Of a message in a list of tasks. Source: reference/sophon.md 5.15."""


def session_view(session: SessionSummary) -> dict[str, Any]:
    """A session in a list."""
    return {
        "session_id": session.id,
        "title": session.title,
        "owner": session.owner,
        "messages": session.messages,
        "model": session.model,
        "created_at": _time(session.created_at),
        "updated_at": _time(session.updated_at),
    }


def message_view(session_id: str, record: SessionRecord) -> dict[str, Any]:
    """An entry of a session's log. What was said has a `message_id`, the same as in the event `message`."""
    view: dict[str, Any] = {
        "seq": record.seq,
        "kind": record.kind,
        "task_id": record.run_id,
        "at": _time(record.at),
    }
    if record.message is not None:
        view |= {"message_id": f"{session_id}:{record.seq}", **record.message.to_json()}
    if record.data:
        view["data"] = dict(record.data)
    return view


def task_view(run: Run) -> dict[str, Any]:
    """A task: an accepted message on its way, or at its end."""
    response = dict(run.response or {})
    return {
        "task_id": run.id,
        "session_id": run.session_id,
        "owner": run.owner,
        "channel": run.channel,
        "status": run.status,
        "text": run.text,
        "description": run.text[:DESCRIPTION_CHARACTERS],
        "created_at": _time(run.created_at),
        "started_at": _time(run.started_at),
        "finished_at": _time(run.finished_at),
        "starts": run.starts,
        "cancel_requested": run.cancel_requested,
        "waiting_for": list(run.waiting_for),
        "finish_reason": response.get("finish_reason"),
        "answer": response.get("text"),
        "usage": response.get("usage") or Usage().to_json(),
        "error": {"code": run.error.code, "message": run.error.message, "id": run.error.id} if run.error else None,
    }


def approval_view(record: ApprovalRecord) -> dict[str, Any]:
    """A question to a person, and its answer once there is one."""
    request, decision = record.request, record.decision
    return {
        "approval_id": request.id,
        "kind": request.kind,
        "session_id": request.session_id,
        "task_id": task_of(request),
        "run_id": request.run_id,
        "tool": request.tool,
        "risk": request.risk.label,
        "arguments": dict(request.arguments),
        "preview": request.preview,
        "editable": request.editable,
        "asked_at": _time(record.asked_at),
        "expires_at": _time(request.expires_at),
        "status": "decided" if decision else "open",
        "decision": decision.verdict if decision else None,
        "decided_by": decision.decided_by if decision else None,
        "decided_at": _time(record.decided_at),
        "reason": decision.reason if decision else None,
    }


def logged_view(session_id: str, logged: LoggedEvent) -> dict[str, Any]:
    """An event as it was sent, with the time at which it was kept."""
    return {**replayed(session_id, logged).to_json(), "at": _time(logged.at)}


def memory_view(entry: MemoryEntry) -> dict[str, Any]:
    """An entry of the long-term memory."""
    return {
        "id": entry.id,
        "text": entry.text,
        "category": entry.category,
        "scope": entry.scope,
        "origin": entry.origin,
        "created_at": _time(entry.created_at),
    }


def usage_view(total: UsageTotal) -> dict[str, Any]:
    """What a model used on one day; the cost in micro-USD."""
    return {
        "day": total.day,
        "provider": total.provider,
        "model": total.model,
        "calls": total.calls,
        **total.usage.to_json(),
    }


def statistics_view(statistics: QueueStatistics) -> dict[str, Any]:
    """The queue at one moment."""
    return {name: getattr(statistics, name) for name in QueueStatistics.__slots__}


def dead_letter_view(letter: DeadLetter) -> dict[str, Any]:
    """A task that the queue has given up."""
    return {
        "task_id": letter.entry.task_id,
        "session_id": letter.entry.session_id,
        "deliveries": letter.count,
        "died_at": _time(letter.died_at),
    }


def _time(at: datetime | None) -> str | None:
    return at.isoformat() if at else None
