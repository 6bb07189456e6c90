"""The turn log of a chain without a host: the records of a turn are appended to its session."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from sophon.context.state import TurnFacts
from sophon.context.turn_log import ClaimedTurn, TurnEnd, TurnEvents
from sophon.events import Emit
from sophon.stores.contract import Store
from sophon.stores.sessions.contract import SessionRecord
from sophon.stores.usage.contract import UsageRow
from sophon.turn.turn_claim import TurnClaim


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
