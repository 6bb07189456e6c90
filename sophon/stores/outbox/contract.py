"""The outbox's contract: outbound messages with a delivery status, stored so that no reply is lost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol, TypeAlias

OutboundStatus: TypeAlias = Literal["pending", "sending", "sent", "refused", "ambiguous", "dead"]


@dataclass(frozen=True, slots=True)
class OutboundEntry:
    """An outbound message: a part of a reply, a question with buttons, a notice.

    `run_id` is None for a message that belongs to no run. `payload` is plain JSON; `position` orders the parts of one
    reply. `attempts` counts the delivery attempts; `not_before` is the earliest time of the next one. `doubtful` stays
    True once an attempt may have been delivered unconfirmed: a later attempt is then marked as a possible repeat.
    `platform_id` is the platform's id of the delivered message. The store maintains all fields from `status` on.
    """

    id: str
    run_id: str | None
    channel: str
    account: str
    chat: str
    kind: str
    payload: Mapping[str, Any] = field(default_factory=lambda: {})
    position: int = 0
    not_before: datetime | None = None
    status: OutboundStatus = "pending"
    attempts: int = 0
    doubtful: bool = False
    last_error: str = ""
    platform_id: str | None = None
    created_at: datetime | None = None


class Outbox(Protocol):
    """The outbox: at-least-once delivery with an explicit status per entry.

    Unknown ids raise NotFound; transitions other than these raise IllegalTransition::

        | from      | sending | sent | refused | ambiguous | dead |
        |-----------|---------|------|---------|-----------|------|
        | pending   | yes     |      |         |           | yes  |
        | sending   |         | yes  | yes     | yes       | yes  |
        | refused   | yes     |      |         |           | yes  |
        | ambiguous | yes     | yes  |         |           | yes  |
        | sent      |         |      |         |           |      |
        | dead      |         |      |         |           |      |

    An ambiguous entry becomes sent when the platform confirms it later. Of two concurrent senders of one entry, one
    gets IllegalTransition. Every transition returns the updated entry. Source: reference/channels.md.
    """

    async def add(self, entries: Sequence[OutboundEntry]) -> int:
        """Add entries in order of position, all or none; return how many were new.

        An entry with a known id stays unchanged. Raises NotFound for a `run_id` that does not exist.
        """
        ...

    async def list_due(self, now: datetime, channel: str, limit: int = 100) -> list[OutboundEntry]:
        """Return the entries to send now, oldest first: pending, refused or ambiguous, `not_before` reached.

        At most one per chat: the first that is neither sent nor dead. So entries of a chat never overtake each other.
        """
        ...

    async def mark_sending(self, entry_id: str) -> OutboundEntry:
        """Mark an entry as sending: a delivery attempt begins."""
        ...

    async def mark_sent(self, entry_id: str, platform_id: str | None = None) -> OutboundEntry:
        """Mark an entry as sent: the platform accepted it. Its payload is dropped: the session has the text."""
        ...

    async def mark_refused(self, entry_id: str, retry_at: datetime, error: str) -> OutboundEntry:
        """Mark an entry as refused: the platform rejected this attempt; retry at `retry_at`."""
        ...

    async def mark_ambiguous(
        self, entry_id: str, error: str = "", *, retry_at: datetime | None = None
    ) -> OutboundEntry:
        """Mark an entry as ambiguous: no response came, so its delivery is unknown.

        It is due again, at once or at `retry_at`.
        """
        ...

    async def mark_dead(self, entry_id: str, error: str) -> OutboundEntry:
        """Mark an entry as a dead letter: it is never sent."""
        ...

    async def recover_interrupted(self, channel: str) -> list[OutboundEntry]:
        """Mark all `sending` entries of a channel as ambiguous and return them, oldest first.

        Call it before the first delivery of a channel: such entries were left by a process that was killed.
        """
        ...

    async def expire(self, before: datetime) -> int:
        """Delete the sent entries that were added before a time; return how many. Dead letters stay."""
        ...

    async def get(self, entry_id: str) -> OutboundEntry:
        """Return one entry."""
        ...

    async def list(
        self,
        *,
        run_id: str | None = None,
        channel: str | None = None,
        status: OutboundStatus | None = None,
        limit: int = 100,
    ) -> list[OutboundEntry]:
        """Return the entries of one run, channel or status, or all of them, oldest first."""
        ...
