"""Delivery state transitions of outbound entries that every store shares: pure functions of an entry."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sophon.errors import IllegalTransition
from sophon.security import redact
from sophon.stores.outbox.contract import OutboundEntry, OutboundStatus

TRANSITIONS: dict[OutboundStatus, tuple[OutboundStatus, ...]] = {
    "pending": ("sending", "dead"),
    "sending": ("sent", "refused", "ambiguous", "dead"),
    "refused": ("sending", "dead"),
    "ambiguous": ("sending", "sent", "dead"),
    "sent": (),
    "dead": (),
}
"""Allowed transitions by status; see `Outbox`."""

INTERRUPTED_ERROR = "the process that was sending it was killed"


def is_open(status: OutboundStatus) -> bool:
    """Return whether the status can still change."""
    return bool(TRANSITIONS[status])


def prepare_entries(entries: Sequence[OutboundEntry], at: datetime) -> list[OutboundEntry]:
    """Return the store's own copies, status pending, in order of position."""
    return [
        OutboundEntry(
            entry.id,
            entry.run_id,
            entry.channel,
            entry.account,
            entry.chat,
            entry.kind,
            dict(entry.payload),
            entry.position,
            entry.not_before,
            created_at=at,
        )
        for entry in sorted(entries, key=lambda entry: entry.position)
    ]


def assign_run(run_id: str, entries: Sequence[OutboundEntry]) -> list[OutboundEntry]:
    """Return the entries with `run_id` set."""
    return [replace(entry, run_id=run_id) for entry in entries]


def mark_sending(entry: OutboundEntry) -> OutboundEntry:
    """Return the entry after `Outbox.mark_sending`."""
    return _transition(entry, "sending", attempts=entry.attempts + 1, not_before=None)


def mark_sent(entry: OutboundEntry, platform_id: str | None) -> OutboundEntry:
    """Return the entry after `Outbox.mark_sent`; its payload, which nobody needs any more, is dropped."""
    return _transition(entry, "sent", platform_id=platform_id, not_before=None, payload={})


def mark_refused(entry: OutboundEntry, retry_at: datetime, error: str) -> OutboundEntry:
    """Return the entry after `Outbox.mark_refused`."""
    return _transition(entry, "refused", not_before=retry_at, last_error=error)


def mark_ambiguous(entry: OutboundEntry, error: str, retry_at: datetime | None) -> OutboundEntry:
    """Return the entry after `Outbox.mark_ambiguous`."""
    return _transition(entry, "ambiguous", doubtful=True, not_before=retry_at, last_error=error)


def mark_dead(entry: OutboundEntry, error: str) -> OutboundEntry:
    """Return the entry after `Outbox.mark_dead`."""
    return _transition(entry, "dead", last_error=error, not_before=None)


def _transition(entry: OutboundEntry, status: OutboundStatus, **changes: Any) -> OutboundEntry:
    allowed = TRANSITIONS[entry.status]
    if status not in allowed:
        raise IllegalTransition("outbound entry", entry.id, entry.status, status, allowed)
    if "last_error" in changes:
        changes["last_error"] = redact(changes["last_error"])
    return replace(entry, status=status, **changes)
