"""Outbound entry: a message or event that is stored until it is delivered."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import datetime
from typing import Any, Literal, TypeAlias

from sophon._python.lazy_dataclass import dataclass, new_dict

OutboundStatus: TypeAlias = Literal["pending", "held", "sending", "sent", "refused", "ambiguous", "dead", "withdrawn"]


CLOSED: frozenset[OutboundStatus] = frozenset({"sent", "dead", "withdrawn"})
"""The statuses in which an entry is no longer delivered."""


@dataclass(frozen=True, slots=True)
class OutboundEntry:
    """An outbound message: a part of a reply, a question with buttons, a notice.

    `run_id` is None for a message that belongs to no run. `payload` is plain JSON; `position` orders the parts of one
    reply. `attempts` counts the sends that left: the request may have reached the platform, and the platform did not
    refuse it. `interruptions` counts the sends that a kill of the process interrupted, which may have left too.
    `refusals` counts the definite refusals since the last start or retry; they lengthen the back-off and are no
    attempts. `not_before` is the earliest time of the next send. `doubtful` stays True once an attempt may have been
    delivered unconfirmed: a later attempt is then marked as a possible repeat. `platform_id` is the platform's id of
    the delivered message, `retried_at` the time at which a dead letter was put back. `dead_reason` is why a dead letter
    was given up, "" if no reason was stated. `delivered`: the platform has confirmed that a sent entry arrived.
    `recipient` is the user id of the person to whom a message in a direct chat is addressed, as the chat may be given
    to somebody else before it is sent; "" for a group and for a message to whoever has the chat. The store maintains
    all other fields from `status` on.
    """

    id: str
    run_id: str | None
    channel: str
    account: str
    chat: str
    kind: str
    payload: Mapping[str, Any] = field(default_factory=new_dict)
    position: int = 0
    not_before: datetime | None = None
    status: OutboundStatus = "pending"
    attempts: int = 0
    doubtful: bool = False
    last_error: str = ""
    platform_id: str | None = None
    created_at: datetime | None = None
    interruptions: int = 0
    refusals: int = 0
    retried_at: datetime | None = None
    recipient: str = ""
    dead_reason: str = ""
    delivered: bool = False


_GIVEN = ("id", "run_id", "channel", "account", "chat", "kind", "position", "not_before", "recipient")
"""Fields of a new entry that its author sets, besides the payload."""


def prepare_entries(entries: Sequence[OutboundEntry], at: datetime) -> list[OutboundEntry]:
    """Return the store's own copies, status pending, in order of position."""
    return [
        OutboundEntry(**{name: getattr(entry, name) for name in _GIVEN}, payload=dict(entry.payload), created_at=at)
        for entry in sorted(entries, key=lambda entry: entry.position)
    ]


def is_open(status: OutboundStatus) -> bool:
    """Return whether an entry with that status is still to be delivered."""
    return status not in CLOSED
