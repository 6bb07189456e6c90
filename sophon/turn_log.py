"""Where the end of a turn is written: in the session's log, or with whatever a host has to write in the same breath."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from sophon.events import Event
from sophon.messages import Response
from sophon.stores.contracts import SessionRecord

if TYPE_CHECKING:
    from sophon.context import Context

TurnStatus: TypeAlias = Literal["completed", "failed", "cancelled", "suspended"]
LastEvents: TypeAlias = Callable[[int], Sequence[Event]]
"""Makes the last events of a turn, given the seq of the last record that it added to its session."""


def nothing(recorded: int) -> Sequence[Event]:
    """No events: a turn that suspends, or that nobody watches."""
    return ()


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """How a turn ends. A completed or suspended one has its response, a failed one its error in three fields: code,
    message, id. `events` are those that say so.
    """

    status: TurnStatus
    response: Response | None = None
    error: Mapping[str, str] = field(default_factory=lambda: {})
    events: LastEvents = nothing


class TurnLog(Protocol):
    """Writes what a turn added to its conversation together with how it ended: all or none."""

    async def conclude(self, ctx: "Context", records: Sequence[SessionRecord], end: TurnEnd, /) -> bool:
        """Keep records and end, then tell the end's events.

        False: this is not the end that counts; nothing was written, and nobody was told.
        """
        ...


class SessionLog:
    """The log of a chain without a host: what was said goes into the session, and that is all there is to write."""

    async def conclude(self, ctx: "Context", records: Sequence[SessionRecord], end: TurnEnd, /) -> bool:
        """See `TurnLog.conclude`; always True. A failure is told also when the store cannot take it."""
        seq = 0
        try:
            seq = await ctx.services.store.sessions.append(ctx.session_id, records, owner=ctx.principal)
        finally:
            if seq or end.status in ("failed", "cancelled"):
                for event in end.events(seq):
                    ctx.emit(event)
        return True
