"""The turn log: writes how a turn begins and ends to its session, in a host in the transaction that updates its run."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import field
from typing import Literal, Protocol, TypeAlias

from sophon._python.lazy_dataclass import dataclass, new_dict
from sophon.context.facts import TurnFacts
from sophon.context.turn_claim import ClaimedTurn, TurnClaim
from sophon.events import Emit, Event
from sophon.messages import Response
from sophon.stores.contract import Store
from sophon.stores.sessions.contract import SessionRecord
from sophon.stores.usage.contract import UsageRow

TurnStatus: TypeAlias = Literal["completed", "failed", "cancelled", "suspended"]
TurnEvents: TypeAlias = Callable[[int], Sequence[Event]]
"""Creates the first or final events of a turn, given the seq of the last record that it added to its session."""


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
    error: Mapping[str, str] = field(default_factory=new_dict)
    events: TurnEvents = no_events


class TurnLog(Protocol):
    """Writes the records that a turn adds to its session together with how it begins and ends, each atomically."""

    async def begin(self, turn: TurnFacts, records: Sequence[SessionRecord], events: TurnEvents, emit: Emit, /) -> None:
        """Store the first records of a turn, of which there may be none, then emit its first events."""
        ...

    async def conclude(self, turn: TurnFacts, records: Sequence[SessionRecord], end: TurnEnd, emit: Emit, /) -> bool:
        """Store the records and the end, then emit the final events.

        Return False if another end was written before; then nothing was written and nothing was emitted.
        """
        ...

    def claim(self, ctx: ClaimedTurn, /) -> AbstractAsyncContextManager[None]:
        """Return a context manager within which a restored turn runs, and nowhere else.

        Entering it raises TurnAlreadyRun for a turn that has ended, is running or was continued from the same state.
        """
        ...

    async def record_usage(self, turn: TurnFacts, rows: Sequence[UsageRow], /) -> None:
        """Take over usage of a turn that is not in the store: write it now, or together with the turn's end."""
        ...


class SessionLog:
    """The turn log of a chain without a host: appends the records to the session; there is no run to update."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._claims: dict[str, TurnClaim] = {}

    async def begin(self, turn: TurnFacts, records: Sequence[SessionRecord], events: TurnEvents, emit: Emit, /) -> None:
        """See `TurnLog.begin`."""
        seq = 0
        if records:
            seq = await self._store.sessions.append(turn.session_id, records, owner=turn.principal)
        for event in events(seq):
            emit(event)

    async def conclude(self, turn: TurnFacts, records: Sequence[SessionRecord], end: TurnEnd, emit: Emit, /) -> bool:
        """See `TurnLog.conclude`. A failure is emitted even if the store cannot record it."""
        claim = self._claims.get(turn.run_id)
        if claim is not None and claim.is_lost:
            return False
        seq = 0
        try:
            seq = await self._store.sessions.append(turn.session_id, records, owner=turn.principal)
        finally:
            if seq or end.status in ("failed", "cancelled"):
                for event in end.events(seq):
                    emit(event)
        return True

    @asynccontextmanager
    async def claim(self, ctx: ClaimedTurn, /) -> AsyncGenerator[None]:
        """See `TurnLog.claim`."""
        claim = TurnClaim(self._store, ctx)
        async with claim:
            self._claims[ctx.run_id] = claim
            try:
                yield
            finally:
                del self._claims[ctx.run_id]

    async def record_usage(self, turn: TurnFacts, rows: Sequence[UsageRow], /) -> None:
        """See `TurnLog.record_usage`: written now."""
        await self._store.usage.record(rows)
