"""The run store's contract: accepted messages, their status, checkpoint and outcome.

    queued ──begin──> running ──suspend──> suspended ──begin──> running
       │                 │                     │
       └─────────────────┴───────finish────────┴──> completed | failed | cancelled

`queued` and `suspended` are stable. A run found `running` after a start was interrupted with its process; it is begun
again. The first outcome is final: a run that has one never changes.

Several processes may use one store. The runs of a session start in order of acceptance: `begin` refuses one while an
earlier one has no outcome. Each start of a run has a number (`Run.starts`), and what is written in the name of a start
is refused with StaleRun once the run has started again: a worker that was believed dead and comes back changes nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from sophon._python.lazy_dataclass import dataclass, new_dict
from sophon.approvals import ApprovalRequest, Decision
from sophon.errors import SophonError
from sophon.security import redact
from sophon.stores.unit_of_work import NO_WRITES, UnitOfWork
from sophon.stores.usage.contract import UsageRow
from sophon_channels.outbound_entry import OutboundEntry
from sophon_hosting.store.events.logged_event import LoggedEvent

if TYPE_CHECKING:
    from sophon.stores.sessions.contract import SessionBranch, SessionRecord

FinalStatus: TypeAlias = Literal["completed", "failed", "cancelled"]
RunStatus: TypeAlias = Literal["queued", "running", "suspended", "completed", "failed", "cancelled"]
BeginVerdict: TypeAlias = Literal["begun", "cancelled", "over", "waits"]

UNFINISHED_STATUSES: tuple[RunStatus, ...] = ("queued", "running", "suspended")


class OutdatedRun(SophonError):
    """A run was changed between the read and the begin of a start, which must not go on with what it has read.

    Nobody else runs it: it is to be read and begun again at once.
    """

    code = "outdated_run"

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        super().__init__(f"run {run_id} was changed after it was read; read and begin it again")


@dataclass(frozen=True, slots=True)
class InboundKey:
    """De-duplication key of an inbound message: the platform, the receiving account, the platform's message id.

    The account is part of the key because platforms number messages per bot or per chat.
    """

    channel: str
    account: str
    external_id: str


@dataclass(frozen=True, slots=True)
class LogWrite:
    """Write to a log of a run's checkpoints: the entries from `start` on are replaced by `entries`, plain JSON values.

    A run has any number of logs, told apart by their numbers `log`; one without entries does not exist. `start` is at
    most the number of entries that the log has.
    """

    log: int
    start: int
    entries: Sequence[Any] = ()


@dataclass(frozen=True, slots=True)
class Precondition:
    """What a run is accepted for, in the version that was read: a goal, a schedule, or a run that it repeats.

    The version of a run is the number of its starts.
    """

    kind: Literal["goal", "schedule", "run"]
    id: str
    version: int


@dataclass(frozen=True, slots=True)
class RunError:
    """Why a run failed: `code` for programs, `message` for people, `id` to find it in the logs."""

    code: str
    message: str
    id: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", redact(self.message))

    def to_json(self) -> dict[str, str]:
        """Return it as JSON data."""
        return {"code": self.code, "message": self.message, "id": self.id}


@dataclass(frozen=True, slots=True)
class Run:
    """An accepted message and its processing.

    The creator sets the first seven fields; the store maintains the others. `origin` says where the reply goes (a chat
    id), `options` holds what came with the message (stream, model, planning, max_iterations); both are plain JSON.
    `order` increases from run to run over all sessions. `started_at` is the time of the first start, `starts` the
    number of starts, one more if another than its worker ended it while it ran. `checkpoint` is what was stored
    last, without its logs (`RunStore.load_logs`); a checkpoint without logs is a `ctx.state()`. `waiting_for` holds
    the ids of pending approvals, `response` text, finish_reason and usage.
    """

    id: str
    session_id: str
    owner: str = ""
    channel: str = ""
    origin: Mapping[str, Any] = field(default_factory=new_dict)
    text: str = ""
    options: Mapping[str, Any] = field(default_factory=new_dict)
    status: RunStatus = "queued"
    order: int = 0
    created_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    starts: int = 0
    checkpoint: Mapping[str, Any] | None = None
    waiting_for: tuple[str, ...] = ()
    response: Mapping[str, Any] | None = None
    error: RunError | None = None
    cancel_requested: bool = False

    @property
    def is_finished(self) -> bool:
        """Whether it has its outcome."""
        return self.status not in UNFINISHED_STATUSES


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """Outcome of a run. A completed run has a response, a failed one an error; ValueError otherwise."""

    status: FinalStatus
    response: Mapping[str, Any] | None = None
    error: RunError | None = None

    def __post_init__(self) -> None:
        if self.status == "completed" and self.response is None:
            raise ValueError("a completed run needs a response")
        if self.status == "failed" and self.error is None:
            raise ValueError("a failed run needs an error")


@dataclass(frozen=True, slots=True)
class PendingRun:
    """Run that a host must start, resume or cancel, unless it is doing so already.

    `is_signalled`: since its last start its cancellation was requested or one of its approvals was decided, perhaps by
    another process, or it was suspended without an approval to wait for. A run that is not signalled is queued.
    """

    id: str
    is_signalled: bool
    session_id: str
    owner: str


@dataclass(frozen=True, slots=True)
class AcceptResult:
    """Result of `accept`; `created` is False if the same message had been accepted before.

    `seq` is the session's last event seq if the message was accepted now, so its n events are the n up to it.
    """

    run: Run
    created: bool
    seq: int = 0


@dataclass(frozen=True, slots=True)
class BeginResult:
    """Result of `begin`: the run and what to do with it.

    `begun`: it is running; execute it, from its checkpoint if there is one. `cancelled`: cancellation was requested;
    finish it as cancelled. `over`: it has its outcome; do nothing. `waits`: the run `waits_for`, an earlier one of the
    session, has no outcome yet. Only `begun` changes the run. Unless it is over or waits, `seq` is the session's last
    event seq, and `last_record_seq` the seq of the last record that was added, 0 if none was.
    """

    run: Run
    verdict: BeginVerdict
    seq: int = 0
    last_record_seq: int = 0
    waits_for: str = ""


@dataclass(frozen=True, slots=True)
class FinishResult:
    """Result of `finish`. `seq` is the session's last event seq, so the n terminal events are the n up to it.

    `is_first` is False if the run had its outcome already: then nothing was written, and nobody must be notified again.
    With `is_running` it has none: it runs, and was not to be finished then. `last_record_seq` is the seq of the last
    record that was added to the session, 0 if none was added.
    """

    is_first: bool
    seq: int
    last_record_seq: int = 0
    is_running: bool = False


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """Decision on the requests of a run that nobody has decided when the run gets its outcome.

    `note` receives these requests before the events of the outcome are built, within the write; again if that is
    repeated.
    """

    decision: Decision
    note: Callable[[Sequence[ApprovalRequest]], None]


EventFactory: TypeAlias = Callable[[int], Sequence[LoggedEvent]]
"""Builds the events of a write, given the seq of the last record that it added to the session, 0 if it added none."""


def no_events(last_record_seq: int) -> Sequence[LoggedEvent]:
    """Return no events: the default for what nobody observes."""
    return ()


class RunStore(Protocol):
    """Repository of runs. Unknown ids raise NotFound with similar ids. Runs are deleted with their session.

    What is written together is stored all or none: the writes of the `unit` first, records, then events. `events` is
    called within the write, possibly in another thread, and again if the write is repeated. `start` is the number of
    the start in whose name is written, None for who does not run the run; StaleRun if the run has started again since,
    and then nothing is written. What a stale start has spent is recorded by `UsageStore.record`, which has no fence.
    """

    async def accept(
        self,
        run: Run,
        key: InboundKey | None = None,
        *,
        session_owner: str | None = None,
        events: EventFactory = no_events,
        unit: UnitOfWork = NO_WRITES,
        branch: "SessionBranch | None" = None,
        precondition: Precondition | None = None,
    ) -> AcceptResult:
        """Store a run, its de-duplication key, events and a unit of work in one write; creates the session if needed.

        A known key returns its existing run, whatever `run` says; then nothing is stored. `session_owner` is the owner
        of the session, by default the run's owner if the session is created. The session uses the attachments that the
        options name from now on. Raises InputError if the run id exists, SessionTaken if the session belongs to another
        than `session_owner`, NotFound for an attachment of another owner; nothing is written then.

        With `branch` the run's session is a new branch of another one, made by the same write (`SessionStore.fork`).
        Raises NotFound if that one does not exist, InputError if the run's session does.

        With `precondition` a new run is stored only while what it is for is stored in that version; otherwise raises
        ChangedMeanwhile.
        """
        ...

    async def begin(
        self,
        run_id: str,
        at: datetime,
        *,
        records: Sequence["SessionRecord"] = (),
        events: EventFactory = no_events,
        unit: UnitOfWork = NO_WRITES,
        seen_starts: int | None = None,
        seen_text: str | None = None,
    ) -> BeginResult:
        """Start or resume the run; store session records and events with it, unless it is over or waits.

        `seen_starts` is the number of starts of the run as the caller has read it, and `seen_text` its text. Raises
        StaleRun if it has started since, OutdatedRun if its text was replaced, or if it has started since and was
        cancelled: then nobody continues it.
        """
        ...

    async def replace_text(self, run_id: str, text: str, origin: Mapping[str, Any]) -> bool:
        """Replace text and origin of a queued run that has never started; return False, changing nothing, otherwise."""
        ...

    async def record(self, session_id: str, unit: UnitOfWork, events: Sequence[LoggedEvent]) -> int:
        """Store a unit of work and events of a session in one write; return the session's last event seq.

        Raises NotFound for an unknown session or run, StaleRun for an old fence.
        """
        ...

    async def suspend(
        self,
        run_id: str,
        state: Mapping[str, Any],
        waiting_for: Sequence[str],
        logs: Sequence[LogWrite] = (),
        *,
        unit: UnitOfWork = NO_WRITES,
        start: int | None = None,
    ) -> Run:
        """Suspend a running run until people decide; return the run, unchanged if it was not running.

        State and logs are stored as those of a checkpoint are, the unit of work in any case.
        """
        ...

    async def load_logs(self, run_id: str) -> Mapping[int, Sequence[Any]]:
        """Return the entries of the logs of the run's checkpoints by the log's number; empty for a finished run."""
        ...

    async def finish(
        self,
        run_id: str,
        outcome: RunOutcome,
        *,
        records: Sequence["SessionRecord"] = (),
        outbound: Sequence[OutboundEntry] = (),
        usage: Sequence[UsageRow] = (),
        events: EventFactory = no_events,
        unit: UnitOfWork = NO_WRITES,
        start: int | None = None,
        seen_starts: int | None = None,
        unless_running: bool = False,
        withdrawal: Withdrawal | None = None,
    ) -> FinishResult:
        """Store outcome, session records, outbound entries, usage and terminal events in one write, all or none.

        The entries get the run's id. Checkpoint, its logs and `waiting_for` are cleared, and the journal of the run is
        deleted. Of several outcomes the first wins; usage and the unit of work are stored in any case. With
        `unless_running`, for who does not run it, nothing but the unit of work is stored while the run is running. With
        `withdrawal` the first outcome decides what the run has asked and nobody has decided. Raises StaleRun if `start`
        is not the last one any more, OutdatedRun if the run has another number of starts than `seen_starts`: the
        records would begin the turn a second time.
        """
        ...

    async def request_cancel(self, run_id: str) -> Run:
        """Store a cancellation request and return the run; a finished run stays unchanged."""
        ...

    async def get(self, run_id: str) -> Run:
        """Return one run."""
        ...

    async def find(self, run_id: str) -> Run | None:
        """Return one run; None if it does not exist."""
        ...

    async def find_by_key(self, key: InboundKey) -> Run | None:
        """Return the run that was accepted with a de-duplication key; None if there is none."""
        ...

    async def list_by_account(self, channel: str, account: str, limit: int) -> list[tuple[InboundKey, Run]]:
        """Return the runs whose de-duplication key has this channel and account, by external id, the last one first.

        The runs are not whole (see `list`).
        """
        ...

    async def expire(self, before: datetime) -> int:
        """Delete the runs that ended before a time, with their keys and outbound entries; return how many.

        A run with an outbound entry that is neither sent nor dead is kept.
        """
        ...

    async def expire_keys(self, before: datetime) -> int:
        """Delete the de-duplication keys of runs that ended before a time; return how many."""
        ...

    async def expire_journal(self, before: datetime) -> int:
        """Delete the journal entries of runs that ended before a time; return how many."""
        ...

    async def list_unfinished(self, session_id: str | None = None) -> list[Run]:
        """Return the queued, running and suspended runs, of one session or all, in order of acceptance."""
        ...

    async def list_pending(self) -> list[PendingRun]:
        """Return the runs that are queued or signalled, in order of acceptance.

        The signal is part of the write that causes it: `request_cancel`, `ApprovalStore.decide`, `suspend`. It ends
        with the next start and with the outcome. Suspended runs for which nobody has decided cost nothing.
        """
        ...

    async def list_running(self) -> list[PendingRun]:
        """Return the runs that are running, in order of acceptance: each needs a worker or, after a crash, resumes."""
        ...

    async def list(
        self,
        *,
        session_id: str | None = None,
        owner: str | None = None,
        status: RunStatus | None = None,
        limit: int = 100,
        whole: bool = True,
        before: str | None = None,
    ) -> list[Run]:
        """Return the runs of one session, owner or status, or all of them, newest first.

        Without `whole` they have no checkpoint, and of each large text of the response the first `HEAD_CHARACTERS`
        only: so much is read, however large the answers are. `before` is the id of a run; only runs that were accepted
        before it are returned. Raises NotFound for it.
        """
        ...
