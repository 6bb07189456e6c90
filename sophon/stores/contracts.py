"""What the chain asks of a store; `memory` and `sql` implement it, one contract suite holds both to it.

All methods are safe to call from many turns at once. Times are aware and in UTC, money is integer micro-USD. What an
awaited method has returned from is as durable as the store can make it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol, TypeAlias

from sophon.approvals import ApprovalRequest, Decision
from sophon.messages import Message, ToolResult, Usage
from sophon.stores.event_contracts import EventLog
from sophon.stores.note_contracts import ChannelNotes
from sophon.stores.outbound_contracts import OutboundLedger
from sophon.stores.run_contracts import RunStore
from sophon.value import value

RecordKind: TypeAlias = Literal["message", "compaction", "failed", "cancelled", "refused", "suspended"]


@dataclass(slots=True)
class SessionRecord:
    """One entry of a session's log, which is only ever appended to.

    A `message` carries its message; a `compaction` carries the summary as its message and `data["covers"]`, the number
    of stored messages that it stands for; the others say in `data` how a turn ended. `seq` (1, 2, 3 within the
    session) and `at` are set by the store.
    """

    kind: RecordKind
    run_id: str
    message: Message | None = None
    data: Mapping[str, Any] = field(default_factory=lambda: {})
    seq: int = 0
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Compaction:
    """A summary that stands for the first `covers` messages (system messages not counted) in the model's view."""

    summary: Message
    covers: int


@value
class History:
    """A session as a turn needs it; `messages` is the caller's own list.

    `known` is a cache that belongs to the session: what turns found out about its first n messages, which never
    change: name -> (n, value). A store that keeps it between turns saves them a look at the whole history.
    """

    messages: list[Message]
    compaction: Compaction | None = None
    model: str | None = None
    known: dict[str, tuple[int, int]] = field(default_factory=lambda: {})


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """A session in a list. `messages` counts what was said; `model` is the session's own choice of model."""

    id: str
    title: str
    owner: str
    messages: int
    created_at: datetime
    updated_at: datetime
    model: str | None = None


class SessionStore(Protocol):
    """Conversations. A session exists from its first record or run on. Unknown ids raise NotFound where it says so."""

    async def history(self, session_id: str) -> History:
        """All messages and the newest compaction; empty for a session that does not exist."""
        ...

    async def append(self, session_id: str, records: Sequence[SessionRecord], *, owner: str = "") -> int:
        """Add records in order, all or none, and give the last seq. Creates the session.

        Done even if the caller is cancelled while it waits: who was cancelled here need not ask again.
        """
        ...

    async def ensure(self, session_id: str, owner: str = "") -> SessionSummary:
        """The session, made for this owner if there is none: of two who make it at once, one is told whose it is."""
        ...

    async def records(self, session_id: str, after: int = 0) -> list[SessionRecord]:
        """The log after a seq, in order. Raises NotFound."""
        ...

    async def list(self, owner: str | None = None) -> list[SessionSummary]:
        """The sessions, the newest first; of one owner or of all."""
        ...

    async def get(self, session_id: str) -> SessionSummary:
        """One session. Raises NotFound, with near ids."""
        ...

    async def rename(self, session_id: str, title: str) -> None:
        """Give it a title. Raises NotFound."""
        ...

    async def choose_model(self, session_id: str, model: str | None) -> None:
        """Keep a model for the session, or let routing choose again. Raises NotFound."""
        ...

    async def fork(self, session_id: str, new_id: str, *, upto: int | None = None) -> None:
        """Copy the log, whole or up to a seq, into a new session. Raises NotFound; InputError if `new_id` exists."""
        ...

    async def delete(self, session_id: str) -> None:
        """Forget it: its log, runs, events and outbound entries included. Raises NotFound."""
        ...


@dataclass(frozen=True, slots=True)
class Limits:
    """A provider's limits; None is none. Tokens a day, micro-USD a month."""

    daily_tokens: int | None = None
    monthly_micros: int | None = None


@value
class Spent:
    """What a provider has used, reservations included: tokens this day, micro-USD this month."""

    tokens: int = 0
    micros: int = 0


@dataclass(frozen=True, slots=True)
class Period:
    """The day (`2026-01-31`) and month (`2026-01`) to which something is charged, in the budget's time zone."""

    day: str
    month: str


@value
class Reservation:
    """A claim on a provider's budget; ends by `settle` or `release`, exactly one of them."""

    id: str
    provider: str
    period: Period
    tokens: int
    micros: int


@value
class UsageRow:
    """What one attempt used, for the books."""

    provider: str
    model: str
    purpose: str
    session_id: str
    run_id: str
    usage: Usage
    period: Period
    at: datetime


@dataclass(frozen=True, slots=True)
class UsageTotal:
    """Usage of one day, provider and model, for a report."""

    day: str
    provider: str
    model: str
    calls: int
    usage: Usage


class UsageStore(Protocol):
    """The books. `reserve` is atomic: of many at once, no more get through than the limits allow.

    A `reserve` that is cancelled leaves nothing reserved; a `settle` or `release` is done even if it is cancelled.
    """

    async def reserve(self, provider: str, period: Period, claim: Usage, limits: Limits) -> Reservation | Spent:
        """Claim tokens and cost; a Reservation, or what is already spent when the claim would pass a limit."""
        ...

    async def settle(self, reservation: Reservation | None, row: UsageRow) -> Spent:
        """Replace the claim by the real usage, and give the new state; None where there was no limit to claim from."""
        ...

    async def release(self, reservation: Reservation) -> None:
        """Give the claim back."""
        ...

    async def spent(self, provider: str, period: Period) -> Spent:
        """What is used and reserved."""
        ...

    async def reserved(self) -> int:
        """Open claims, in tokens; 0 at rest."""
        ...

    async def totals(self, *, since: str = "", session_id: str | None = None) -> list[UsageTotal]:
        """Usage per day, provider and model, oldest first; since a day, of one session or of all."""
        ...


@dataclass(frozen=True, slots=True)
class ApprovalRecord:
    """A question to a person, and its answer once there is one."""

    request: ApprovalRequest
    asked_at: datetime
    decision: Decision | None = None
    decided_at: datetime | None = None


class ApprovalStore(Protocol):
    """Questions and answers. The first decision wins, whatever comes at the same time."""

    async def ask(self, request: ApprovalRequest, at: datetime) -> ApprovalRecord:
        """Keep a question; one with the same id is given back as it is, answer included."""
        ...

    async def decide(self, approval_id: str, decision: Decision, at: datetime) -> ApprovalRecord:
        """Keep the answer if there is none, and give the record as it now is. Raises NotFound."""
        ...

    async def get(self, approval_id: str) -> ApprovalRecord:
        """Raises NotFound."""
        ...

    async def list(self, *, open_only: bool = True, session_id: str | None = None) -> list[ApprovalRecord]:
        """The questions, oldest first."""
        ...


@value
class JournalEntry:
    """A tool call that was started; `result` is None while its outcome is unknown."""

    call_id: str
    tool: str
    result: ToolResult | None = None


class Journal(Protocol):
    """Which tool calls of a run have been run, so that a resumed run runs none of them again."""

    async def start(self, run_id: str, call_id: str, tool: str) -> None:
        """The call is about to run."""
        ...

    async def finish(self, run_id: str, result: ToolResult) -> None:
        """The call has run; this is its result."""
        ...

    async def entries(self, run_id: str) -> dict[str, JournalEntry]:
        """By call id."""
        ...

    async def forget(self, run_id: str) -> None:
        """The run is over, and so are its plan steps (`run_id/...`)."""
        ...


@dataclass(frozen=True, slots=True)
class MemoryEntry:
    """Something to be remembered beyond a session. `origin` says where it came from; `scope` whose it is."""

    id: str
    text: str
    category: Literal["fact", "preference", "observation"] = "fact"
    scope: str = "user"
    origin: str = ""
    created_at: datetime | None = None


class MemoryStore(Protocol):
    """Long-term memory: plain entries, found by the words in them."""

    async def write(self, entry: MemoryEntry) -> None:
        """Keep an entry; one with the same id is replaced."""
        ...

    async def search(self, query: str, *, scope: str | None = None, limit: int = 10) -> list[MemoryEntry]:
        """The entries that share words with the query, the best first; an empty query gives the newest."""
        ...

    async def forget(self, entry_id: str) -> None:
        """Raises NotFound."""
        ...

    async def all(self, *, scope: str | None = None) -> list[MemoryEntry]:
        """Every entry, oldest first."""
        ...


class Store(Protocol):
    """All nine rooms of one store. Open it before use; closing twice does no harm."""

    @property
    def sessions(self) -> SessionStore: ...
    @property
    def usage(self) -> UsageStore: ...
    @property
    def approvals(self) -> ApprovalStore: ...
    @property
    def journal(self) -> Journal: ...
    @property
    def memory(self) -> MemoryStore: ...
    @property
    def runs(self) -> RunStore: ...
    @property
    def outbound(self) -> OutboundLedger: ...
    @property
    def events(self) -> EventLog: ...
    @property
    def notes(self) -> ChannelNotes: ...

    async def open(self) -> None:
        """Connect and bring the schema up to date."""
        ...

    async def close(self) -> None:
        """Write what is under way, then let go."""
        ...
