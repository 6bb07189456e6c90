"""Serialization of stored objects for clients: the same JSON over Socket.IO and HTTP."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from sophon.approvals import turn_id_from_request
from sophon.memory.workspace_index import FileChunk
from sophon.messages import Usage
from sophon.models.gateway.provider import ProviderStatistics
from sophon.schedules.turn_mark import SCHEDULED_ORIGIN, strip_scheduled_prefix
from sophon.security.audit_chain import AuditEntry
from sophon.skills.custom_tools import CustomTool, UnusableCustomTool
from sophon.stores.approvals.contract import ApprovalRecord
from sophon.stores.events.contract import LoggedEvent
from sophon.stores.grants.contract import StandingGrant
from sophon.stores.memories.contract import MemoryEntry
from sophon.stores.message_search.contract import MessageHit
from sophon.stores.outbound_entry import OutboundEntry
from sophon.stores.route_averages.contract import RouteAverage
from sophon.stores.runs.contract import Run
from sophon.stores.sessions.branches import BranchPoint
from sophon.stores.sessions.contract import SessionRecord, SessionSummary
from sophon.stores.sub_agents.contract import SubAgentRun
from sophon.stores.usage.contract import UsageTotal
from sophon_hosting.client_api.client_message import Mode
from sophon_hosting.events.json_encoding import json_bytes
from sophon_hosting.events.wire_event import wire_event_from_log
from sophon_hosting.queue.contract import DeadLetter, QueueStatistics
from sophon_hosting.run_authorship import GOAL
from sophon_hosting.runs.acceptance import TaskReceipt

if TYPE_CHECKING:
    from sophon.agents.definition import AgentDefinition

LISTED_ANSWER_CHARACTERS = 4000
"""Length of an answer in a list of tasks; less than what `RunStore.list` returns of a large one."""

DESCRIPTION_CHARACTERS = 100
"""Length of a task's description, in characters. Source: Sophon's guide, tasks."""


def message_hit_to_json(hit: MessageHit) -> dict[str, Any]:
    """Serialise a hit of the search; the pieces of `snippet` are in order, those with `match` are to be marked."""
    return {
        "session_id": hit.session_id,
        "title": hit.title,
        "message_id": f"{hit.session_id}:{hit.seq}",
        "seq": hit.seq,
        "role": hit.role,
        "at": hit.at,
        "snippet": [{"text": part.text, "match": part.is_match} for part in hit.snippet],
    }


def session_to_json(session: SessionSummary) -> dict[str, Any]:
    """Return a session summary as JSON."""
    return {
        "session_id": session.id,
        "title": session.shown_title,
        "title_is_provisional": not session.title,
        "pinned": session.pinned,
        "archived": session.archived,
        "owner": session.owner,
        "messages": session.message_count,
        "model": session.model,
        "planning": session.planning,
        "forked_from": session.forked_from,
        "forked_at": session.forked_at,
        "conversation": session.family,
        "created_at": _to_iso(session.created_at),
        "updated_at": _to_iso(session.updated_at),
    }


def branch_point_to_json(point: BranchPoint) -> dict[str, Any]:
    """Return a branch point as JSON."""
    return {"seq": point.seq, "options": list(point.options), "index": point.index}


def receipt_to_json(receipt: TaskReceipt, mode: Mode) -> dict[str, Any]:
    """Return the receipt of a message as JSON. Off the record it says that the task does not survive a restart."""
    fields = {"task_id": receipt.task_id, "session_id": receipt.session_id, "position": receipt.position}
    return {**fields, "mode": mode, "durable": False} if mode == "otr" else fields


def record_to_json(session_id: str, record: SessionRecord) -> dict[str, Any]:
    """Return a session record as JSON. A message has a `message_id`, the same as in the event `message`."""
    result: dict[str, Any] = {
        "seq": record.seq,
        "kind": record.kind,
        "task_id": record.run_id,
        "at": _to_iso(record.at),
    }
    if record.message is not None:
        result |= {"message_id": f"{session_id}:{record.seq}", **record.message.to_json()}
        if SCHEDULED_ORIGIN in record.data:  # as in the event `message`
            result |= {"content": strip_scheduled_prefix(record.message.content), "origin": SCHEDULED_ORIGIN}
    if record.data:
        result["data"] = dict(record.data)
    return result


def task_to_json(run: Run) -> dict[str, Any]:
    """Return a run as JSON; clients know it as a task."""
    response = dict(run.response or {})
    return {
        "task_id": run.id,
        "session_id": run.session_id,
        "owner": run.owner,
        "channel": run.channel,
        "origin": _find_origin(run),
        "status": run.status,
        "text": run.text,
        "description": run.text[:DESCRIPTION_CHARACTERS],
        "created_at": _to_iso(run.created_at),
        "started_at": _to_iso(run.started_at),
        "finished_at": _to_iso(run.finished_at),
        "starts": run.starts,
        "cancel_requested": run.cancel_requested,
        "waiting_for": list(run.waiting_for),
        "finish_reason": response.get("finish_reason"),
        "answer": response.get("text"),
        "tool_outcome": _find_tool_outcome(response),
        "usage": response.get("usage") or Usage().to_json(),
        "tool_rounds": response.get("tool_rounds", 0),
        "fallback_attempts": response.get("fallback_attempts", 0),
        "model": response.get("model", ""),
        "error": {"code": run.error.code, "message": run.error.message, "id": run.error.id} if run.error else None,
    }


def _find_origin(run: Run) -> dict[str, Any] | None:
    """Return the goal and the step whose run it is; None for a run that is no step of a goal."""
    goal = run.options.get(GOAL)
    return {"kind": "goal", "goal_id": goal["id"], "step": goal["step"]} if goal else None


def agent_to_json(agent: "AgentDefinition") -> dict[str, Any]:
    """Return a defined agent as JSON, without its prompt."""
    return {
        "name": agent.name,
        "description": agent.description,
        "model": agent.model,
        "hint": agent.hint,
        "tools": None if agent.tools is None else list(agent.tools),
        "skills": list(agent.skills),
        "memory": agent.memory,
        "chain": agent.chain or None,
        "max_rounds": agent.max_rounds,
        "timeout_seconds": agent.timeout_seconds,
        "temperature": agent.temperature,
        "channels": list(agent.channels),
        "patterns": list(agent.patterns),
    }


def sub_agent_to_json(row: SubAgentRun) -> dict[str, Any]:
    """Return a sub-agent of a task as JSON."""
    return {
        "agent_id": row.id,
        "agent": row.agent,
        "task_id": row.task_id,
        "parent_id": row.parent_id,
        "session_id": row.session_id,
        "state": row.state,
        "depth": row.depth,
        "task": row.task,
        "detail": row.detail,
        "created_at": _to_iso(row.created_at),
        "finished_at": _to_iso(row.finished_at),
        "cancel_requested": row.cancel_requested,
    }


def _find_tool_outcome(response: Mapping[str, Any]) -> str | None:
    detail: Mapping[str, Any] = response.get("detail") or {}
    return detail.get("tool_outcome")


def listed_task_to_json(run: Run) -> dict[str, Any]:
    """Return a run of a list as JSON: `answer` has its first `LISTED_ANSWER_CHARACTERS`, and `answer_is_cut` says
    whether there is more, which the task itself has.
    """
    task = task_to_json(run)
    answer: str = task["answer"] or ""
    is_cut = len(answer) > LISTED_ANSWER_CHARACTERS
    return {**task, "answer": answer[:LISTED_ANSWER_CHARACTERS] if is_cut else task["answer"], "answer_is_cut": is_cut}


def approval_to_json(record: ApprovalRecord) -> dict[str, Any]:
    """Return an approval as JSON, with its decision if there is one."""
    request, decision = record.request, record.decision
    return {
        "approval_id": request.id,
        "kind": request.kind,
        "session_id": request.session_id,
        "task_id": turn_id_from_request(request),
        "run_id": request.run_id,
        "call_id": request.call_id,
        "tool": request.tool,
        "risk": request.risk.label,
        "arguments": dict(request.arguments),
        "preview": request.preview,
        "full_preview": request.full_preview,
        "editable": request.editable,
        "needs_operator": request.needs_operator,
        "escalation": request.escalation.to_json() if request.escalation else None,
        "grant_offer": request.grant_offer,
        "asked_at": _to_iso(record.asked_at),
        "expires_at": _to_iso(request.expires_at),
        "status": "decided" if decision else "open",
        "decision": decision.verdict if decision else None,
        "decided_by": decision.decided_by if decision else None,
        "grant": decision.grant if decision else None,
        "decided_at": _to_iso(record.decided_at),
        "reason": decision.reason if decision else None,
        "edited_arguments": dict(decision.arguments) if decision and decision.verdict == "edit" else None,
    }


def grant_to_json(grant: StandingGrant) -> dict[str, Any]:
    """Return an approval in advance as JSON; the pattern of arguments as the text that the person saw."""
    return {
        "grant_id": grant.id,
        "scope": grant.scope,
        "user": grant.principal,
        "session_id": grant.session_id or None,
        "chat": grant.chat or None,
        "tool": grant.tool,
        "covers": grant.description,
        "granted_by": grant.granted_by,
        "granted_at": _to_iso(grant.granted_at),
        "expires_at": _to_iso(grant.expires_at),
    }


def logged_event_to_json(session_id: str, logged: LoggedEvent) -> dict[str, Any]:
    """Return a stored event as it was sent, with the time at which it was stored."""
    return {**wire_event_from_log(session_id, logged).to_json(), "at": _to_iso(logged.at)}


def take_items(items: Sequence[Mapping[str, Any]], max_bytes: int) -> Sequence[Mapping[str, Any]]:
    """Return as many of the first items as have at most `max_bytes` of JSON together, but at least one."""
    remaining_bytes = max_bytes
    for index, item in enumerate(items):
        remaining_bytes -= json_bytes(item) + 1
        if remaining_bytes < 0:
            return items[: max(index, 1)]
    return items


def memory_to_json(entry: MemoryEntry) -> dict[str, Any]:
    """Return an entry of the long-term memory as JSON."""
    return {
        "id": entry.id,
        "text": entry.text,
        "category": entry.category,
        "scope": entry.scope,
        "reach": entry.reach,
        "agent": entry.agent,
        "session_id": entry.session_id,
        "entities": list(entry.entities),
        "relations": [[each.subject, each.name, each.object] for each in entry.relations],
        "origin": entry.origin,
        "trusted": entry.is_trusted,
        "sources": list(entry.sources) if entry.sources is not None else None,
        "created_at": _to_iso(entry.created_at),
    }


def chunk_to_json(chunk: FileChunk) -> dict[str, Any]:
    """Return lines of a workspace file as JSON."""
    return {
        "file": chunk.file,
        "first_line": chunk.first_line,
        "last_line": chunk.last_line,
        "text": chunk.text,
        "trusted": chunk.is_trusted,
    }


def usage_to_json(total: UsageTotal) -> dict[str, Any]:
    """Return the usage of a model on one day as JSON; the cost is in micro-USD."""
    return {
        "day": total.day,
        "provider": total.provider,
        "model": total.model,
        "calls": total.calls,
        **total.usage.to_json(),
    }


def queue_statistics_to_json(statistics: QueueStatistics) -> dict[str, Any]:
    """Return the queue statistics as JSON."""
    return {name: getattr(statistics, name) for name in QueueStatistics.__slots__}


def dead_letter_to_json(letter: DeadLetter) -> dict[str, Any]:
    """Return a dead letter of the queue as JSON."""
    return {
        "kind": "task",
        "id": letter.entry.task_id,
        "task_id": letter.entry.task_id,
        "session_id": letter.entry.session_id,
        "deliveries": letter.delivery_count,
        "died_at": _to_iso(letter.died_at),
    }


def provider_to_json(statistics: ProviderStatistics, now: datetime) -> dict[str, Any]:
    """Convert a provider's state, for operators; `available_at` is when it is called again, null if it is now."""
    seconds, keys = statistics.available_in_seconds, statistics.keys
    return {
        "provider": statistics.id,
        "health": statistics.health,
        "circuit": statistics.circuit,
        "keys": keys.total if keys is not None else 0,
        "keys_cooling": keys.cooling if keys is not None else 0,
        "keys_disabled": keys.disabled if keys is not None else 0,
        "available_at": _to_iso(now + timedelta(seconds=seconds)) if seconds else None,
        "attempts": statistics.attempts,
        "failures": statistics.failures,
        "last_error": statistics.last_error,
    }


def undelivered_entry_to_json(entry: OutboundEntry) -> dict[str, Any]:
    """Return a dead letter of a channel, one message to a chat, as JSON."""
    return {
        "kind": "message",
        "id": entry.id,
        "task_id": entry.run_id,
        "channel": entry.channel,
        "chat": entry.chat,
        "attempts": entry.attempts,
        "may_have_arrived": entry.doubtful,
        "error": entry.last_error,
        "created_at": _to_iso(entry.created_at),
    }


def _to_iso(at: datetime | None) -> str | None:
    return at.isoformat() if at else None


def route_average_to_json(average: RouteAverage) -> dict[str, Any]:
    """Return the averages of a model as JSON data; null for a value that was never observed."""
    updated_at = average.updated_at
    return {**asdict(average), "updated_at": None if updated_at is None else updated_at.isoformat()}


def audit_entry_to_json(entry: AuditEntry) -> dict[str, Any]:
    """Return an entry of the audit log: its fields, its level and its texts, without digests and salts."""
    texts = {name: entry.texts[name] for name in sorted(entry.texts)}
    return {"number": entry.number, **entry.fields, "capability_level": entry.capability_level, **texts}


def custom_tool_to_json(tool: CustomTool | UnusableCustomTool) -> dict[str, Any]:
    """Return a custom tool as JSON data, without its program; one that cannot be used has its `problem`."""
    if isinstance(tool, UnusableCustomTool):
        facts = {"name": tool.full_name, "description": "", "risk": "", "enabled": False, "shared": False}
        return {**facts, "owner": tool.owner, "folder": str(tool.folder), "problem": tool.problem}
    return {
        "name": tool.full_name,
        "description": tool.script.description,
        "risk": tool.script.risk,
        "enabled": tool.is_enabled,
        "shared": tool.is_shared,
        "owner": tool.owner,
        "created_at": tool.created_at,
        "sources": [*tool.sources],
        "folder": str(tool.folder),
    }
