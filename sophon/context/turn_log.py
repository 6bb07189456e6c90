"""The turn log: writes how a turn begins and ends to its session, in a host in the transaction that updates its run."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from sophon._python.lazy_dataclass import dataclass, new_dict
from sophon.cancellation import Cancellation
from sophon.clock import Clock
from sophon.context.state import TurnFacts
from sophon.events.base import Emit, Event
from sophon.messages import Response

if TYPE_CHECKING:
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


class HasClock(Protocol):
    """Services, of which a claim needs the clock."""

    @property
    def clock(self) -> Clock: ...


class ClaimedTurn(Protocol):
    """What a claim reads and sets of a turn; a `Context` is one."""

    cancellation: Cancellation
    resumes: int

    @property
    def run_id(self) -> str: ...
    @property
    def session_id(self) -> str: ...
    @property
    def services(self) -> HasClock: ...
    @property
    def has_end_recorder(self) -> bool: ...
    @property
    def response(self) -> Response | None: ...

    def tool_check(self, check: Any, /) -> AbstractContextManager[None]:
        """Add a check of each tool call, and remove it at the end of the block."""
        ...


class TurnLog(Protocol):
    """Writes the records that a turn adds to its session together with how it begins and ends, each atomically."""

    async def begin(
        self, turn: TurnFacts, records: "Sequence[SessionRecord]", events: TurnEvents, emit: Emit, /
    ) -> None:
        """Store the first records of a turn, of which there may be none, then emit its first events."""
        ...

    async def conclude(self, turn: TurnFacts, records: "Sequence[SessionRecord]", end: TurnEnd, emit: Emit, /) -> bool:
        """Store the records and the end, then emit the final events.

        Return False if another end was written before; then nothing was written and nothing was emitted.
        """
        ...

    def claim(self, ctx: ClaimedTurn, /) -> AbstractAsyncContextManager[None]:
        """Return a context manager within which a restored turn runs, and nowhere else.

        Entering it raises TurnAlreadyRun for a turn that has ended, is running or was continued from the same state.
        """
        ...

    async def record_usage(self, turn: TurnFacts, rows: "Sequence[UsageRow]", /) -> None:
        """Take over usage of a turn that is not in the store: write it now, or together with the turn's end."""
        ...
