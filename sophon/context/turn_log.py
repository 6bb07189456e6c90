"""The turn log: writes the end of a turn to its session, in a host in one transaction with the run's outcome."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from sophon.context.facts import TurnFacts
from sophon.events import Emit, Event
from sophon.messages import Response
from sophon.stores.contract import Store
from sophon.stores.sessions.contract import SessionRecord

TurnStatus: TypeAlias = Literal["completed", "failed", "cancelled", "suspended"]
LastEvents: TypeAlias = Callable[[int], Sequence[Event]]
"""Creates the final events of a turn, given the seq of the last record that it added to its session."""


def no_events(recorded: int) -> Sequence[Event]:
    """Return no events: for a turn that suspends or that has no listener."""
    return ()


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """How a turn ends.

    A completed or suspended turn has its `response`, a failed one its `error` with the keys code, message and id. The
    response of a failed or cancelled turn is what was shown of it. `events` creates the events that announce the end.
    """

    status: TurnStatus
    response: Response | None = None
    error: Mapping[str, str] = field(default_factory=lambda: {})
    events: LastEvents = no_events


class TurnLog(Protocol):
    """Writes the records that a turn added to its session together with how it ended, atomically."""

    async def conclude(self, turn: TurnFacts, records: Sequence[SessionRecord], end: TurnEnd, emit: Emit, /) -> bool:
        """Store the records and the end, then emit the final events.

        Return False if another end was written before; then nothing was written and nothing was emitted.
        """
        ...


class SessionLog:
    """The turn log of a chain without a host: appends the records to the session; there is no run to update."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def conclude(self, turn: TurnFacts, records: Sequence[SessionRecord], end: TurnEnd, emit: Emit, /) -> bool:
        """See `TurnLog.conclude`; always return True. A failure is emitted even if the store cannot record it."""
        seq = 0
        try:
            seq = await self._store.sessions.append(turn.session_id, records, owner=turn.principal)
        finally:
            if seq or end.status in ("failed", "cancelled"):
                for event in end.events(seq):
                    emit(event)
        return True
