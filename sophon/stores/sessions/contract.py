"""The session store's contract: conversations, their records and the newest compaction."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import datetime
from typing import Any, Final, Literal, Protocol, TypeAlias

from sophon._python.lazy_dataclass import dataclass, new_dict, slotted_dataclass
from sophon.messages import Compaction, Message
from sophon.redaction_hook import redact_message
from sophon.stores.run_fence import RunFence

SessionKind: TypeAlias = Literal["open", "archived", "pinned"]

RecordKind: TypeAlias = Literal["message", "compaction", "failed", "cancelled", "refused", "suspended"]


@dataclass(slots=True)
class SessionRecord:
    """Record of a session's append-only log.

    A `message` record carries its message, and the last one of a turn `data["untrusted_sources"]` if there are any (see
    `sophon.turn.provenance`). A `compaction` record carries the summary as its message and `data["covers"]`, the
    number of stored messages that the summary replaces. The other kinds state in `data` how a turn ended; secrets in
    the error of a `failed` one are replaced. The store sets `seq` (1, 2, 3 within the session) and `at`.
    """

    kind: RecordKind
    run_id: str
    message: Message | None = None
    data: Mapping[str, Any] = field(default_factory=new_dict)
    seq: int = 0
    at: datetime | None = None

    def __post_init__(self) -> None:
        if self.kind == "failed":
            self.data = redact_message(self.data)


@slotted_dataclass
class History:
    """A session as a turn needs it. The caller owns the list `messages`.

    `prefix_cache` is a cache that belongs to the session. It maps a name to (n, value): a fact about the first n
    messages, which never change. A store that keeps it between turns saves them a scan of the whole history.
    `is_decoded`: the messages were read from a database, and those that no fact is about were never counted.
    """

    messages: list[Message]
    compaction: Compaction | None = None
    model: str | None = None
    prefix_cache: dict[str, tuple[int, int]] = field(default_factory=new_dict)
    is_decoded: bool = field(default=False, compare=False)
    planning: str | None = None


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """Listing entry of a session.

    `message_count` counts the messages of user and assistant; `model` and `planning` are those chosen for the session.
    A copy has the session and the seq up to which it was copied in `forked_from` and
    `forked_at`. The branches of one conversation have the same `family`, the id of the first of them; it is None for a
    session without branches. `provisional_title` is the beginning of its first message.
    """

    id: str
    title: str
    owner: str
    message_count: int
    created_at: datetime
    updated_at: datetime
    model: str | None = None
    planning: str | None = None
    forked_from: str | None = None
    forked_at: int | None = None
    family: str | None = None
    provisional_title: str = ""
    pinned: bool = False
    archived: bool = False

    @property
    def shown_title(self) -> str:
        """The title; before there is one, the beginning of the first message."""
        return self.title or self.provisional_title


SUMMARY_FIELDS: Final = (
    *("title", "owner", "created_at", "updated_at", "model", "planning", "forked_from", "forked_at", "family"),
    *("provisional_title", "pinned", "archived"),
)
"""Fields of a summary that every store keeps under the same names."""


@dataclass(frozen=True, slots=True)
class SessionTotals:
    """Numbers of an owner's sessions, branches included, and of the records in them."""

    sessions: int
    records: int


@dataclass(frozen=True, slots=True)
class SessionBranch:
    """Where a new session branches off: it begins with the records of `session_id` up to `upto`, 0 for none."""

    session_id: str
    upto: int


@dataclass(frozen=True, slots=True)
class NewSession:
    """A whole session from elsewhere, with times of its own; records without a time are of `updated_at`."""

    id: str
    owner: str
    title: str
    records: Sequence[SessionRecord]
    created_at: datetime
    updated_at: datetime
    model: str | None = None
    planning: str | None = None
    pinned: bool = False
    archived: bool = False


@dataclass(frozen=True, slots=True)
class SessionPage:
    """Page of a session list; `total` counts all matches, `next_cursor` is None on the last page."""

    items: Sequence[SessionSummary]
    total: int
    next_cursor: str | None = None


class SessionStore(Protocol):
    """Repository of sessions. A session exists from its first record or run on.

    Methods raise NotFound for an unknown id where their documentation says so.
    """

    async def load_history(self, session_id: str) -> History:
        """Return all messages and the newest compaction; empty for a session that does not exist."""
        ...

    async def append(
        self, session_id: str, records: Sequence[SessionRecord], *, owner: str = "", fence: RunFence | None = None
    ) -> int:
        """Append records in order, all or none, and return the last seq. Creates the session.

        The write completes even if the caller is cancelled while it waits, so a cancelled caller must not retry. Raises
        StaleRun for an old fence.
        """
        ...

    async def get_or_create(self, session_id: str, owner: str = "") -> SessionSummary:
        """Return the session, creating it for `owner` if it does not exist.

        Of two concurrent creators the first one's owner is kept, and both see it.
        """
        ...

    async def add(self, session: NewSession) -> bool:
        """Store a whole session, its records numbered from 1; return False, changing nothing, if its id exists."""
        ...

    async def list_records(
        self,
        session_id: str,
        after: int = 0,
        *,
        before: int | None = None,
        limit: int | None = None,
        max_bytes: int | None = None,
    ) -> list[SessionRecord]:
        """Return the records after a seq, in order. Raises NotFound.

        With `before` those before that seq, of which the last ones are returned if there are too many: at most `limit`,
        and only one more than fits if they have more than `max_bytes` of JSON together.
        """
        ...

    async def list_turn(self, session_id: str, run_id: str) -> list[SessionRecord]:
        """Return the records of one run in a session, in order; none if it has none there. Raises NotFound."""
        ...

    async def list(self, owner: str | None = None) -> list[SessionSummary]:
        """Return the sessions of one owner or of all, newest first; each branch is a session."""
        ...

    async def count(self, owner: str) -> SessionTotals:
        """Return how many sessions an owner has, and how many records are in them."""
        ...

    async def list_family(self, session_id: str) -> Sequence[SessionSummary]:
        """Return the branches of a conversation in order of creation, given one of them. Raises NotFound.

        Sessions of different owners are never of one conversation.
        """
        ...

    async def list_page(
        self,
        owner: str | None = None,
        *,
        search: str = "",
        limit: int = 100,
        offset: int = 0,
        cursor: str | None = None,
        kind: SessionKind | None = None,
    ) -> SessionPage:
        """Return a page of conversations: at most `limit`, after `offset` others or after the page of a cursor.

        A conversation with branches is listed once, as the branch that was changed last.

        `kind`: only those that are archived, or not, or that are pinned and not archived. Each word of `search` must be
        part of the title or the id, whatever its case. A session that is changed while somebody reads page after page
        moves to the first one. Raises InputError for an invalid cursor.
        """
        ...

    async def get(self, session_id: str) -> SessionSummary:
        """Return one session. Raises NotFound with similar ids."""
        ...

    async def find(self, session_id: str) -> SessionSummary | None:
        """Return one session; None if it does not exist."""
        ...

    async def rename(self, session_id: str, title: str) -> None:
        """Set the title, also that of the other branches of the conversation. Raises NotFound."""
        ...

    async def mark(self, session_id: str, *, pinned: bool | None = None, archived: bool | None = None) -> None:
        """Pin or archive a conversation with all its branches, or no longer; None: as it is. Raises NotFound."""
        ...

    async def set_model(self, session_id: str, model: str | None) -> None:
        """Set the session's model; None leaves the choice to routing. Raises NotFound."""
        ...

    async def set_planning(self, session_id: str, planning: str | None) -> None:
        """Set the session's planning mode; None leaves it to the settings. Raises NotFound."""
        ...

    async def fork(self, session_id: str, new_id: str, *, upto: int | None = None, branch: bool = False) -> None:
        """Copy the records, all or up to a seq, to a new session. Raises NotFound; InputError if `new_id` exists.

        Title, model, planning mode and label are copied too, the runs are not: nothing is spent or learnt again. With
        `branch` the copy belongs to the same conversation, and may have no records (`upto=0`).
        """
        ...

    async def join_family(self, session_id: str, family: str, forked_from: str | None, forked_at: int | None) -> None:
        """State of which conversation a session is a branch (see `SessionSummary`), for imports. Raises NotFound."""
        ...

    async def delete(self, session_id: str, *, unless_unfinished: bool = False) -> None:
        """Delete the session and all branches of it with their records, runs, events and outbound entries. Raises
        NotFound.

        What its calls have used stays in the totals, and no longer counts for a session. With `unless_unfinished`
        raises Busy, deleting nothing, while a run of it, or of a session in which its goals work, has no outcome.
        """
        ...

    async def list_idle(self, before: datetime, limit: int = 100) -> Sequence[str]:
        """Return the ids of sessions that nothing was added to since a time and that nothing is to happen in, the
        oldest first.

        Something is to happen in a session with an unfinished run, with a schedule that is not finished, with a live
        goal, and in one that a goal works in. Branches of one conversation are idle together.
        """
        ...

    async def delete_idle(self, session_id: str, before: datetime) -> bool:
        """Delete the session as `delete` does, if `list_idle` would return it; return whether it was deleted.

        Both are one transaction: a message that was accepted meanwhile keeps the session.
        """
        ...
