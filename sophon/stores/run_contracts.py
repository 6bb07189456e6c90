"""What the host asks of a store about runs: the rows that say what was accepted, how far it is, and how it ended.

    queued ──begin──> running ──suspend──> suspended ──begin──> running
       │                 │                     │
       └─────────────────┴───────finish────────┴──> completed | failed | cancelled

A run rests in `queued` and `suspended`; one found in `running` after a start was left there by a process that has gone,
and is begun again. The first outcome is the outcome: nothing changes a run that has one.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from sophon.stores.event_contracts import LoggedEvent
from sophon.stores.outbound_contracts import OutboundEntry

if TYPE_CHECKING:
    from sophon.stores.contracts import SessionRecord

FinalStatus: TypeAlias = Literal["completed", "failed", "cancelled"]
RunStatus: TypeAlias = Literal["queued", "running", "suspended", "completed", "failed", "cancelled"]
Verdict: TypeAlias = Literal["begun", "cancelled", "over"]

UNFINISHED: tuple[RunStatus, ...] = ("queued", "running", "suspended")


@dataclass(frozen=True, slots=True)
class InboundKey:
    """What a message is known by where it came from: the platform, the account it was sent to, the platform's id.

    The account belongs to it: platforms number messages per bot or per chat.
    """

    channel: str
    account: str
    external_id: str


@dataclass(frozen=True, slots=True)
class RunError:
    """Why a run failed, as it is shown: `code` for programs, `message` for people, `id` to be found in the logs."""

    code: str
    message: str
    id: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """An accepted message on its way to its outcome.

    Whoever accepts it gives the first seven fields; the store keeps the others. `origin` says where the answer goes (a
    chat id), `options` what came with the message (stream, model, planning); both are plain JSON. `order` increases
    from run to run over all sessions. `started_at` is when it was first begun, `starts` how often; `checkpoint` is a
    `ctx.state()`, `waiting_for` the approvals whose decision it waits for. `response` holds text, finish_reason, usage.
    """

    id: str
    session_id: str
    owner: str = ""
    channel: str = ""
    origin: Mapping[str, Any] = field(default_factory=lambda: {})
    text: str = ""
    options: Mapping[str, Any] = field(default_factory=lambda: {})
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
    def over(self) -> bool:
        """Whether it has its outcome."""
        return self.status not in UNFINISHED


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """How a run ended. A completed one has a response, a failed one an error; ValueError otherwise."""

    status: FinalStatus
    response: Mapping[str, Any] | None = None
    error: RunError | None = None

    def __post_init__(self) -> None:
        if self.status == "completed" and self.response is None:
            raise ValueError("a completed run needs a response")
        if self.status == "failed" and self.error is None:
            raise ValueError("a failed run needs an error: whoever waits is told why")


@dataclass(frozen=True, slots=True)
class Accepted:
    """The run of a message; `created` is False when the same message had been accepted before."""

    run: Run
    created: bool


@dataclass(frozen=True, slots=True)
class Begun:
    """What `begin` found, and so what to do.

    `begun`: it is running, carry it out, from its checkpoint if there is one. `cancelled`: somebody asked for its end;
    finish it as cancelled. `over`: it has its outcome, leave it alone. Only `begun` has changed anything.
    """

    run: Run
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Finished:
    """What `finish` did. `seq` is the last event of the session, so that the n terminal ones are the n up to it.

    `first` is False when the run had its outcome already: then nothing was written, and nobody should be told again.
    `recorded` is the seq of the last record that was added to the session, 0 if there was none to add.
    """

    first: bool
    seq: int
    recorded: int = 0


LastEvents: TypeAlias = Callable[[int], Sequence[LoggedEvent]]
"""Makes the events that say how a run ended, given the seq of the last record that was added to its session."""


def no_events(recorded: int) -> Sequence[LoggedEvent]:
    """An end that nobody watches."""
    return ()


class RunStore(Protocol):
    """The runs of a host. Unknown ids raise NotFound, with near ids; they go with their session."""

    async def accept(self, run: Run, key: InboundKey | None = None) -> Accepted:
        """Keep a message and its key, both or none, in one write; the session is made if there is none.

        A key that is known gives the run that came with it, whatever `run` says. InputError for a run id that is taken.
        """
        ...

    async def begin(self, run_id: str, at: datetime) -> Begun:
        """It is about to be carried out, for the first time or again."""
        ...

    async def checkpoint(self, run_id: str, state: Mapping[str, Any]) -> bool:
        """Keep how far it is; False and no change if it is not running any more. `state` is the store's from then."""
        ...

    async def suspend(self, run_id: str, state: Mapping[str, Any], waiting_for: Sequence[str]) -> Run:
        """It waits for people. Gives the run as it now is: only a running one is suspended; see `cancel_requested`."""
        ...

    async def finish(
        self,
        run_id: str,
        outcome: RunOutcome,
        *,
        records: Sequence["SessionRecord"] = (),
        outbound: Sequence[OutboundEntry] = (),
        events: LastEvents = no_events,
    ) -> Finished:
        """Keep the outcome, what the conversation says of it, what is to be sent and the last events: all or none.

        `events` is called within the write, perhaps in another thread. The entries become the run's own. Checkpoint and
        `waiting_for` are dropped. Of many outcomes the first wins.
        """
        ...

    async def request_cancel(self, run_id: str) -> Run:
        """Keep that it is to end, and give it as it now is; one that is over stays as it is."""
        ...

    async def get(self, run_id: str) -> Run:
        """One run."""
        ...

    async def ahead(self, run_id: str) -> int:
        """How many queued runs were accepted before it; 0 for one that is not queued any more."""
        ...

    async def unfinished(self) -> list[Run]:
        """Queued, running and suspended, in the order in which they were accepted."""
        ...

    async def list(
        self,
        *,
        session_id: str | None = None,
        owner: str | None = None,
        status: RunStatus | None = None,
        limit: int = 100,
    ) -> list[Run]:
        """The newest first; of one session, owner or status, or of all."""
        ...
