"""Where the end of a turn is written: in the session's log, or with whatever a host has to write in the same breath."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from sophon.messages import Response
from sophon.stores.contracts import SessionRecord

if TYPE_CHECKING:
    from sophon.context import Context

TurnStatus: TypeAlias = Literal["completed", "failed", "cancelled", "suspended"]


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """How a turn ends. A completed or suspended one has its response, a failed one its error in three fields: code,
    message, id.
    """

    status: TurnStatus
    response: Response | None = None
    error: Mapping[str, str] = field(default_factory=lambda: {})


class TurnLog(Protocol):
    """Writes what a turn added to its conversation together with how it ended: all or none."""

    async def conclude(self, ctx: "Context", records: Sequence[SessionRecord], end: TurnEnd, /) -> int | None:
        """Keep records and end, and give the seq of the last record; events leave after it.

        None: this is not the end that counts, nothing was written, and nobody should be told.
        """
        ...


class SessionLog:
    """The log of a chain without a host: what was said goes into the session, and that is all there is to write."""

    async def conclude(self, ctx: "Context", records: Sequence[SessionRecord], end: TurnEnd, /) -> int | None:
        """See `TurnLog.conclude`; never None."""
        return await ctx.services.store.sessions.append(ctx.session_id, records, owner=ctx.principal)
