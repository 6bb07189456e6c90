"""The store contract: nine repositories, one per aggregate. `InMemoryStore` and `SqlStore` implement it.

Both pass the same contract tests. All methods may be called from many turns concurrently. Times are aware and in UTC;
money is integer micro-USD. When an awaited method returns, its effect is as durable as the store can make it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol, TypeAlias

from sophon.approvals import ApprovalRequest, Decision
from sophon.messages import Message, ToolResult, Usage
from sophon.stores.event_contracts import EventLog
from sophon.stores.note_contracts import ChannelStateStore
from sophon.stores.outbound_contracts import Outbox
from sophon.stores.run_contracts import RunStore
from sophon.value import slotted_dataclass

RecordKind: TypeAlias = Literal["message", "compaction", "failed", "cancelled", "refused", "suspended"]


@dataclass(slots=True)
class SessionRecord:
    """Record of a session's append-only log.

    A `message` record carries its message. A `compaction` record carries the summary as its message and
    `data["covers"]`, the number of stored messages that the summary replaces. The other kinds state in `data` how a
    turn ended. The store sets `seq` (1, 2, 3 within the session) and `at`.
    """

    kind: RecordKind
    run_id: str
    message: Message | None = None
    data: Mapping[str, Any] = field(default_factory=lambda: {})
    seq: int = 0
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Compaction:
    """Summary that replaces the first `covers` messages (system messages not counted) in the model's view."""

    summary: Message
    covers: int


@slotted_dataclass
class History:
    """A session as a turn needs it. The caller owns the list `message_count`.

    `prefix_cache` is a cache that belongs to the session. It maps a name to (n, value): a fact about the first n messages,
    which never change. A store that keeps it between turns saves them a scan of the whole history.
    """

    messages: list[Message]
    compaction: Compaction | None = None
    model: str | None = None
    prefix_cache: dict[str, tuple[int, int]] = field(default_factory=lambda: {})


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """Listing entry of a session.

    `message_count` counts the messages of user and assistant; `model` is the model chosen for the session.
    """

    id: str
    title: str
    owner: str
    message_count: int
    created_at: datetime
    updated_at: datetime
    model: str | None = None


class SessionStore(Protocol):
    """Repository of sessions. A session exists from its first record or run on.

    Methods raise NotFound for an unknown id where their documentation says so.
    """

    async def load_history(self, session_id: str) -> History:
        """Return all messages and the newest compaction; empty for a session that does not exist."""
        ...

    async def append(self, session_id: str, records: Sequence[SessionRecord], *, owner: str = "") -> int:
        """Append records in order, all or none, and return the last seq. Creates the session.

        The write completes even if the caller is cancelled while it waits, so a cancelled caller must not retry.
        """
        ...

    async def get_or_create(self, session_id: str, owner: str = "") -> SessionSummary:
        """Return the session, creating it for `owner` if it does not exist.

        Of two concurrent creators the first one's owner is kept, and both see it.
        """
        ...

    async def list_records(self, session_id: str, after: int = 0) -> list[SessionRecord]:
        """Return the records after a seq, in order. Raises NotFound."""
        ...

    async def list(self, owner: str | None = None) -> list[SessionSummary]:
        """Return the sessions of one owner or of all, newest first."""
        ...

    async def get(self, session_id: str) -> SessionSummary:
        """Return one session. Raises NotFound with similar ids."""
        ...

    async def rename(self, session_id: str, title: str) -> None:
        """Set the title. Raises NotFound."""
        ...

    async def set_model(self, session_id: str, model: str | None) -> None:
        """Set the session's model; None leaves the choice to routing. Raises NotFound."""
        ...

    async def fork(self, session_id: str, new_id: str, *, upto: int | None = None) -> None:
        """Copy the records, all or up to a seq, to a new session. Raises NotFound; InputError if `new_id` exists."""
        ...

    async def delete(self, session_id: str) -> None:
        """Delete the session with its records, runs, events and outbound entries. Raises NotFound."""
        ...


@dataclass(frozen=True, slots=True)
class ProviderLimits:
    """Budget limits of a provider: tokens per day, micro-USD per month. None means unlimited."""

    daily_tokens: int | None = None
    monthly_micros: int | None = None


@slotted_dataclass
class Spending:
    """Usage of a provider, reservations included: tokens of this day, micro-USD of this month."""

    tokens: int = 0
    micros: int = 0


@dataclass(frozen=True, slots=True)
class Period:
    """Day (`2026-01-31`) and month (`2026-01`) that usage is charged to, in the budget's time zone."""

    day: str
    month: str


@slotted_dataclass
class Reservation:
    """Budget reserved for one attempt. Must be ended by exactly one `settle` or `release`."""

    id: str
    provider: str
    period: Period
    tokens: int
    micros: int


@slotted_dataclass
class UsageRow:
    """Usage record of one attempt."""

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
    """Repository of usage and budget reservations.

    `reserve` is atomic: concurrent callers never pass a limit together. A cancelled `reserve` leaves nothing reserved;
    a `settle` or `release` completes even if it is cancelled.
    """

    async def reserve(self, provider: str, period: Period, worst_case: Usage, limits: ProviderLimits) -> Reservation | Spending:
        """Reserve tokens and cost. Returns a Reservation, or the present usage if `worst_case` would pass a limit."""
        ...

    async def settle(self, reservation: Reservation | None, row: UsageRow) -> Spending:
        """Replace the reservation, if there is one, by the real usage and return the new totals."""
        ...

    async def release(self, reservation: Reservation) -> None:
        """Cancel the reservation without usage."""
        ...

    async def get_spending(self, provider: str, period: Period) -> Spending:
        """Return usage plus open reservations."""
        ...

    async def reserved(self) -> int:
        """Return the tokens of all open reservations; 0 when no attempt is in flight."""
        ...

    async def list_totals(self, *, since: str = "", session_id: str | None = None) -> list[UsageTotal]:
        """Return usage per day, provider and model, oldest first; `since` a day, of one session or of all."""
        ...


@dataclass(frozen=True, slots=True)
class ApprovalRecord:
    """An approval request and its decision; `decision` is None while it is open."""

    request: ApprovalRequest
    asked_at: datetime
    decision: Decision | None = None
    decided_at: datetime | None = None


class ApprovalStore(Protocol):
    """Repository of approvals. The first decision wins, also among concurrent ones."""

    async def get_or_create(self, request: ApprovalRequest, at: datetime) -> ApprovalRecord:
        """Store a request and return its record; a known id returns the existing record, decision included."""
        ...

    async def decide(self, approval_id: str, decision: Decision, at: datetime) -> ApprovalRecord:
        """Store the decision if there is none, and return the resulting record. Raises NotFound."""
        ...

    async def get(self, approval_id: str) -> ApprovalRecord:
        """Return one record. Raises NotFound."""
        ...

    async def list(self, *, open_only: bool = True, session_id: str | None = None) -> list[ApprovalRecord]:
        """Return the records, oldest first."""
        ...


@slotted_dataclass
class JournalEntry:
    """A tool call that was started; `result` is None while its outcome is unknown."""

    call_id: str
    tool: str
    result: ToolResult | None = None


class Journal(Protocol):
    """Repository of executed tool calls by run. A resumed run uses it to execute no call twice."""

    async def start(self, run_id: str, call_id: str, tool: str) -> None:
        """Record that the call is about to be executed."""
        ...

    async def finish(self, run_id: str, result: ToolResult) -> None:
        """Record the result of the call."""
        ...

    async def load_entries(self, run_id: str) -> dict[str, JournalEntry]:
        """Return the entries of a run by call id."""
        ...

    async def delete(self, run_id: str) -> None:
        """Delete the entries of a finished run and of its plan steps (`run_id/...`)."""
        ...


@dataclass(frozen=True, slots=True)
class MemoryEntry:
    """Long-term memory entry. `origin` says where it came from; `scope` says whose it is."""

    id: str
    text: str
    category: Literal["fact", "preference", "observation"] = "fact"
    scope: str = "user"
    origin: str = ""
    created_at: datetime | None = None


class MemoryStore(Protocol):
    """Repository of long-term memory: plain entries with word search."""

    async def write(self, entry: MemoryEntry) -> None:
        """Store an entry; replaces an entry with the same id."""
        ...

    async def search(self, query: str, *, scope: str | None = None, limit: int = 10) -> list[MemoryEntry]:
        """Return the entries that share words with the query, best first; an empty query returns the newest."""
        ...

    async def delete(self, entry_id: str) -> None:
        """Delete an entry. Raises NotFound."""
        ...

    async def list_all(self, *, scope: str | None = None) -> list[MemoryEntry]:
        """Return every entry, oldest first."""
        ...


class Store(Protocol):
    """The nine repositories of one store. Open it before use; closing twice is allowed."""

    @property
    def sessions(self) -> SessionStore: ...
    @property
    def usage(self) -> UsageStore: ...
    @property
    def approvals(self) -> ApprovalStore: ...
    @property
    def journal(self) -> Journal: ...
    @property
    def memories(self) -> MemoryStore: ...
    @property
    def runs(self) -> RunStore: ...
    @property
    def outbox(self) -> Outbox: ...
    @property
    def events(self) -> EventLog: ...
    @property
    def channel_state(self) -> ChannelStateStore: ...

    async def open(self) -> None:
        """Connect and migrate the schema."""
        ...

    async def close(self) -> None:
        """Complete pending writes, then release all resources."""
        ...
