"""Delivery state transitions of outbound entries: pure functions of an entry."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sophon.errors import IllegalTransition
from sophon.security import redact
from sophon_channels.outbound_entry import OutboundEntry, OutboundStatus

TRANSITIONS: dict[OutboundStatus, tuple[OutboundStatus, ...]] = {
    "pending": ("held", "sending", "dead", "withdrawn"),
    "held": ("pending", "held", "sending", "dead", "withdrawn"),
    "sending": ("sent", "refused", "ambiguous", "dead", "withdrawn"),
    "refused": ("held", "sending", "dead", "withdrawn"),
    "ambiguous": ("sending", "sent", "dead", "withdrawn"),
    "sent": (),
    "dead": ("pending",),
    "withdrawn": (),
}
"""Allowed transitions by status; see `Outbox`."""

WAITING: frozenset[OutboundStatus] = frozenset({"pending", "held", "refused", "ambiguous"})
"""The statuses in which an entry waits for its next send."""

KEPT_CHARACTERS = 300
"""Characters of each text of a sent entry that are kept."""

INTERRUPTED_ERROR = "the process that was sending it was killed"


def assign_run(run_id: str, entries: Sequence[OutboundEntry]) -> list[OutboundEntry]:
    """Return the entries with `run_id` set."""
    return [replace(entry, run_id=run_id) for entry in entries]


def mark_sending(entry: OutboundEntry, payload: Mapping[str, Any] | None = None) -> OutboundEntry:
    """Return the entry after `Outbox.mark_sending`."""
    return _transition(entry, "sending", not_before=None, payload=entry.payload if payload is None else payload)


def mark_sent(entry: OutboundEntry, platform_id: str | None, *, keep_payload: bool = False) -> OutboundEntry:
    """Return the entry after `Outbox.mark_sent`, with what remains of its payload."""
    attempts = entry.attempts + (entry.status == "sending")
    return _transition(
        entry,
        "sent",
        platform_id=platform_id,
        attempts=attempts,
        not_before=None,
        payload=entry.payload if keep_payload else shorten_payload(entry.payload),
    )


def mark_delivered(entry: OutboundEntry) -> OutboundEntry:
    """Return the entry after `Outbox.mark_delivered`."""
    if entry.status != "sent":
        raise IllegalTransition("outbound entry", entry.id, entry.status, "delivered", TRANSITIONS[entry.status])
    return entry if entry.delivered else replace(entry, delivered=True, payload=shorten_payload(entry.payload))


def mark_failed(entry: OutboundEntry, error: str, reason: str) -> OutboundEntry:
    """Return the entry after `Outbox.mark_failed`."""
    if entry.status != "sent" or entry.delivered:
        raise IllegalTransition("outbound entry", entry.id, entry.status, "failed", TRANSITIONS[entry.status])
    return replace(entry, status="dead", last_error=redact(error), dead_reason=reason)


def give_up(entry: OutboundEntry, error: str, reason: str) -> OutboundEntry:
    """Return a single entry after `Outbox.give_up`."""
    return (mark_failed if entry.status == "sent" else mark_dead)(entry, error, reason)


def readdress(entry: OutboundEntry, chat: str) -> OutboundEntry:
    """Return the entry after `Outbox.readdress`."""
    if entry.status not in WAITING:
        raise IllegalTransition("outbound entry", entry.id, entry.status, "readdressed", TRANSITIONS[entry.status])
    return replace(entry, chat=chat)


def shorten_payload(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return the beginnings of a payload's texts, and its flags and numbers: what is left of a sent entry."""
    kept = {name: value for name, value in payload.items() if value is None or isinstance(value, str | int | float)}
    return {name: value[:KEPT_CHARACTERS] if isinstance(value, str) else value for name, value in kept.items()}


def mark_refused(entry: OutboundEntry, retry_at: datetime, error: str) -> OutboundEntry:
    """Return the entry after `Outbox.mark_refused`."""
    return _transition(entry, "refused", not_before=retry_at, last_error=error, refusals=entry.refusals + 1)


def mark_ambiguous(entry: OutboundEntry, error: str, retry_at: datetime | None) -> OutboundEntry:
    """Return the entry after `Outbox.mark_ambiguous`."""
    return _transition(
        entry, "ambiguous", attempts=entry.attempts + 1, doubtful=True, not_before=retry_at, last_error=error
    )


def mark_interrupted(entry: OutboundEntry) -> OutboundEntry:
    """Return the entry after `Outbox.recover_interrupted`."""
    return _transition(
        entry, "ambiguous", interruptions=entry.interruptions + 1, doubtful=True, last_error=INTERRUPTED_ERROR
    )


def mark_dead(entry: OutboundEntry, error: str, reason: str = "") -> OutboundEntry:
    """Return the entry after `Outbox.mark_dead`."""
    return _transition(entry, "dead", last_error=error, not_before=None, dead_reason=reason)


def withdraw(entry: OutboundEntry, reason: str) -> OutboundEntry:
    """Return the entry after `Outbox.withdraw`."""
    return _transition(entry, "withdrawn", last_error=reason, not_before=None)


def retry(entry: OutboundEntry, at: datetime) -> OutboundEntry:
    """Return the entry after `Outbox.retry`."""
    return _transition(
        entry, "pending", attempts=0, interruptions=0, refusals=0, not_before=None, retried_at=at, dead_reason=""
    )


def hold(entry: OutboundEntry, until: datetime) -> OutboundEntry:
    """Return the entry after `Outbox.hold`."""
    return _transition(entry, "held", not_before=until)


def postpone(entry: OutboundEntry, until: datetime) -> OutboundEntry:
    """Return the entry after `Outbox.postpone`."""
    if entry.status == "held":  # what waits for a limit is not overtaken
        return _transition(entry, "pending", not_before=until)
    if entry.status not in WAITING:
        raise IllegalTransition("outbound entry", entry.id, entry.status, "postponed", TRANSITIONS[entry.status])
    return replace(entry, not_before=until)


def is_same_message(one: OutboundEntry, other: OutboundEntry) -> bool:
    """Return whether two entries are parts of one message; see `Outbox.mark_message_dead`."""
    if (one.channel, one.account, one.chat) != (other.channel, other.account, other.chat):
        return False
    if one.run_id is not None or other.run_id is not None:
        return one.run_id == other.run_id
    name, separator, _ = one.id.rpartition(":")
    return one.id == other.id or (bool(separator) and other.id.rpartition(":")[0] == name)


def _transition(entry: OutboundEntry, status: OutboundStatus, **changes: Any) -> OutboundEntry:
    allowed = TRANSITIONS[entry.status]
    if status not in allowed:
        raise IllegalTransition("outbound entry", entry.id, entry.status, status, allowed)
    if "last_error" in changes:
        changes["last_error"] = redact(changes["last_error"])
    return replace(entry, status=status, **changes)
