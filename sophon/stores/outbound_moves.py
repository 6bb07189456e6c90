"""How an outbound entry changes: the rules that every store shares."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sophon.errors import IllegalTransition
from sophon.stores.outbound_contracts import OutboundEntry, OutboundStatus

MOVES: dict[OutboundStatus, tuple[OutboundStatus, ...]] = {
    "pending": ("sending", "dead"),
    "sending": ("sent", "refused", "ambiguous", "dead"),
    "refused": ("sending", "dead"),
    "ambiguous": ("sending", "sent", "dead"),
    "sent": (),
    "dead": (),
}
"""What may become what; see `OutboundLedger`."""

LEFT_BEHIND = "whoever was sending it was killed"


def is_open(status: OutboundStatus) -> bool:
    """Whether something can still become of it."""
    return bool(MOVES[status])


def kept(entries: Sequence[OutboundEntry], at: datetime) -> list[OutboundEntry]:
    """The store's own entries, nothing done yet, in order of position."""
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


def of_run(run_id: str, entries: Sequence[OutboundEntry]) -> list[OutboundEntry]:
    """The entries as those of a run."""
    return [replace(entry, run_id=run_id) for entry in entries]


def sending(entry: OutboundEntry) -> OutboundEntry:
    """After `sending`."""
    return _moved(entry, "sending", attempts=entry.attempts + 1, not_before=None)


def sent(entry: OutboundEntry, platform_id: str | None) -> OutboundEntry:
    """After `sent`."""
    return _moved(entry, "sent", platform_id=platform_id, not_before=None)


def refused(entry: OutboundEntry, retry_at: datetime, error: str) -> OutboundEntry:
    """After `refused`."""
    return _moved(entry, "refused", not_before=retry_at, last_error=error)


def ambiguous(entry: OutboundEntry, error: str, retry_at: datetime | None) -> OutboundEntry:
    """After `ambiguous`."""
    return _moved(entry, "ambiguous", doubtful=True, not_before=retry_at, last_error=error)


def dead(entry: OutboundEntry, error: str) -> OutboundEntry:
    """After `dead`."""
    return _moved(entry, "dead", last_error=error, not_before=None)


def _moved(entry: OutboundEntry, status: OutboundStatus, **changes: Any) -> OutboundEntry:
    allowed = MOVES[entry.status]
    if status not in allowed:
        raise IllegalTransition("outbound entry", entry.id, entry.status, status, allowed)
    return replace(entry, status=status, **changes)
