"""Serialization of stored objects for clients: the same JSON over Socket.IO and HTTP."""

from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

from sophon.memory.workspace_index import FileChunk
from sophon.models.gateway.provider import ProviderStatistics
from sophon.security.audit_chain import AuditEntry
from sophon.skills.custom_tools import CustomTool, UnusableCustomTool
from sophon.stores.memories.contract import MemoryEntry
from sophon.stores.outbound_entry import OutboundEntry
from sophon.stores.route_averages.contract import RouteAverage
from sophon_hosting.queue.contract import DeadLetter, QueueStatistics


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
