"""What channels ask of a store: a ledger of what is to be sent to people, so that no answer is lost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol, TypeAlias

OutboundStatus: TypeAlias = Literal["pending", "sending", "sent", "refused", "ambiguous", "dead"]


@dataclass(frozen=True, slots=True)
class OutboundEntry:
    """One thing to send: a part of an answer, a question with buttons, a note.

    `run_id` is None for what belongs to no run. `payload` is plain JSON, `position` the place among the parts of one
    answer. `attempts` counts how often sending was begun; `not_before` is when it may next be. `doubtful` stays True
    once an attempt may have reached the person unseen: what is sent after that is marked as a possible repeat.
    `platform_id` is the platform's id of the message that was sent. The store keeps all from `status` on.
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


class OutboundLedger(Protocol):
    """Delivery at least once, and said so. Unknown ids raise NotFound, other moves than these IllegalTransition.

    | from      | sending | sent | refused | ambiguous | dead |
    |-----------|---------|------|---------|-----------|------|
    | pending   | yes     |      |         |           | yes  |
    | sending   |         | yes  | yes     | yes       | yes  |
    | refused   | yes     |      |         |           | yes  |
    | ambiguous | yes     | yes  |         |           | yes  |
    | sent      |         |      |         |           |      |
    | dead      |         |      |         |           |      |

    An ambiguous entry may turn out to have been sent when the platform says so later. Of two who begin to send an
    entry at once, one is told that it is being sent. Every move gives the entry as it now is. Source:
    reference/channels.md.
    """

    async def add(self, entries: Sequence[OutboundEntry]) -> int:
        """Keep what is to be sent, in order of position, all or none; how many were new.

        An entry whose id is known stays as it is. NotFound for a `run_id` that does not exist.
        """
        ...

    async def due(self, now: datetime, channel: str, limit: int = 100) -> list[OutboundEntry]:
        """What may be sent now, oldest first: pending, refused or ambiguous, its `not_before` reached.

        At most one per chat, the first that is neither sent nor dead: nothing overtakes what a chat still waits for.
        """
        ...

    async def sending(self, entry_id: str) -> OutboundEntry:
        """It is about to be sent."""
        ...

    async def sent(self, entry_id: str, platform_id: str | None = None) -> OutboundEntry:
        """It has arrived at the platform."""
        ...

    async def refused(self, entry_id: str, retry_at: datetime, error: str) -> OutboundEntry:
        """The platform did not take it, and may later."""
        ...

    async def ambiguous(self, entry_id: str, error: str = "", *, retry_at: datetime | None = None) -> OutboundEntry:
        """Nobody knows whether it arrived: no answer came. It is due again, at once or at `retry_at`."""
        ...

    async def dead(self, entry_id: str, error: str) -> OutboundEntry:
        """It will never be sent."""
        ...

    async def interrupted(self, channel: str) -> list[OutboundEntry]:
        """Make ambiguous what is `sending`, and give it, oldest first.

        For whoever delivers a channel, before the first delivery: what is left there was left by a killed process.
        """
        ...

    async def get(self, entry_id: str) -> OutboundEntry:
        """One entry."""
        ...

    async def list(
        self,
        *,
        run_id: str | None = None,
        channel: str | None = None,
        status: OutboundStatus | None = None,
        limit: int = 100,
    ) -> list[OutboundEntry]:
        """The entries, oldest first; of one run, channel or status, or of all."""
        ...
