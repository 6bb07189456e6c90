"""Retry rules of outbound entries: when an entry is sent again, and when it is given up. Pure."""

from datetime import datetime, timedelta
from typing import Literal, TypeAlias

from sophon_channels.outbound_entry import OutboundEntry
from sophon_channels.outbound_file import OutboundFile

MAX_AMBIGUOUS_ATTEMPTS = 3
"""Maximum sends of an entry that may have arrived."""

MAX_DOUBTFUL_SENDS = 8
"""Maximum sends of an entry that may have arrived, those included that a kill of the host interrupted. A kill says
nothing about the platform, so it alone does not use up the attempts; but a host that is killed again and again must not
repeat a message without end.
"""

MAX_ENTRY_AGE = timedelta(hours=24)
"""Age from which the next refusal ends an entry, and from which one that may have arrived is not sent again."""

AMBIGUOUS_DELAYS = (timedelta(seconds=10), timedelta(minutes=5), timedelta(minutes=1))
"""Delay after each send that may have arrived. The second one outlasts a short incident of the platform, so that it
does not use up all sends; after the last one a button press may still prove that the message arrived.
"""

CREDENTIAL_RETRY_SECONDS = (60.0, 120.0, 240.0, 480.0, 600.0)
"""Delays between the attempts to start a channel whose credential the platform rejects; the last one repeats."""

UndeliveredReason: TypeAlias = Literal[
    "expired", "ambiguous", "chat_gone", "window_closed", "recipient_changed", "rejected"
]
"""Why an entry was given up: refused until it was too old, in doubt too often, its chat is gone, the platform takes
no free text until the person writes again (and another message tells them), its chat belongs to somebody else now, or
the platform rejects this message.
"""

WHOLE_MESSAGE_REASONS = frozenset({"chat_gone", "window_closed", "recipient_changed", "expired"})
"""Reasons that end the other parts of a message too."""

UNREACHABLE_REASONS = frozenset({"chat_gone", "window_closed", "recipient_changed"})
"""Reasons for which nothing can be told in the chat before the person writes again."""


def find_age(entry: OutboundEntry, now: datetime) -> timedelta:
    """Return the time since the entry was stored, or put back by a retry."""
    return now - (entry.retried_at or entry.created_at or now)


def is_expired(entry: OutboundEntry, now: datetime) -> bool:
    """Return whether a refusal now ends the entry. One that was never refused is tried, however old it is."""
    return find_age(entry, now) > MAX_ENTRY_AGE


def is_exhausted(entry: OutboundEntry, now: datetime) -> bool:
    """Return whether an entry that may have arrived must not be sent again."""
    sends = entry.attempts + entry.interruptions
    if not entry.doubtful or sends == 0:
        return False
    return entry.attempts >= MAX_AMBIGUOUS_ATTEMPTS or sends >= MAX_DOUBTFUL_SENDS or is_expired(entry, now)


def may_send_again(entry: OutboundEntry) -> bool:
    """Return whether the person may have a dead letter sent again; an operator may always retry it.

    A file that the platform rejected would be rejected again. A text is tried once more, as some rejections are
    temporary.
    """
    is_file = OutboundFile.from_payload(entry.payload) is not None
    return entry.dead_reason != "rejected" or not (is_file or entry.retried_at is not None)


def ambiguous_delay(attempts: int) -> timedelta:
    """Return the delay after `attempts` (from 1) sends that may have arrived."""
    return AMBIGUOUS_DELAYS[min(max(attempts, 1), len(AMBIGUOUS_DELAYS)) - 1]


def credential_delay(rejections: int) -> float:
    """Return the seconds until a channel is started again, after so many (from 1) rejections in a row."""
    return CREDENTIAL_RETRY_SECONDS[min(max(rejections, 1), len(CREDENTIAL_RETRY_SECONDS)) - 1]


def describe_doubt(entry: OutboundEntry) -> str:
    """Return the error of an entry that is given up because it may have arrived."""
    sends = entry.attempts + entry.interruptions
    times = "once" if sends == 1 else f"{sends} times"
    return f"ambiguous: it was sent {times} without a definite answer, and may have arrived: {entry.last_error}"


def ends_whole_message(reason: UndeliveredReason) -> bool:
    """Return whether the other parts of the message end with the one that is given up: they would end the same way."""
    return reason in WHOLE_MESSAGE_REASONS
