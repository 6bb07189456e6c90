"""The session store's contract: conversations, their records and the newest compaction."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import datetime
from typing import Any, Literal, Protocol, TypeAlias

from sophon.lazy_dataclass import dataclass
from sophon.messages import Message
from sophon.security import redact_message
from sophon.slotted_dataclass import new_dict, slotted_dataclass

RecordKind: TypeAlias = Literal["message", "compaction", "failed", "cancelled", "refused", "suspended"]


@dataclass(slots=True)
class SessionRecord:
    """Record of a session's append-only log.

    A `message` record carries its message, and the last one of a turn `data["untrusted_sources"]` if there are any (see
    `sophon.context.provenance`). A `compaction` record carries the summary as its message and `data["covers"]`, the
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


@dataclass(frozen=True, slots=True)
class Compaction:
    """Summary that replaces the first `covers` messages (system messages not counted) in the model's view."""

    summary: Message
    covers: int


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

    async def list(self, owner: str | None = None) -> list[SessionSummary]:
        """Return the sessions of one owner or of all, newest first."""
        ...

    async def list_page(
        self,
        owner: str | None = None,
        *,
        search: str = "",
        limit: int = 100,
        offset: int = 0,
        cursor: str | None = None,
    ) -> SessionPage:
        """Return a page of what `list` returns: at most `limit`, after `offset` others or after the page of a cursor.

        Each word of `search` must be part of the title or the id, whatever its case. A session that is changed while
        somebody reads page after page moves to the first one. Raises InputError for an invalid cursor.
        """
        ...

    async def get(self, session_id: str) -> SessionSummary:
        """Return one session. Raises NotFound with similar ids."""
        ...

    async def find(self, session_id: str) -> SessionSummary | None:
        """Return one session; None if it does not exist."""
        ...

    async def rename(self, session_id: str, title: str) -> None:
        """Set the title. Raises NotFound."""
        ...

    async def set_model(self, session_id: str, model: str | None) -> None:
        """Set the session's model; None leaves the choice to routing. Raises NotFound."""
        ...

    async def change_owner(self, session_id: str, owner: str) -> None:
        """Give the session, but not its runs, to another owner. Raises NotFound."""
        ...

    async def fork(self, session_id: str, new_id: str, *, upto: int | None = None) -> None:
        """Copy the records, all or up to a seq, to a new session. Raises NotFound; InputError if `new_id` exists."""
        ...

    async def delete(self, session_id: str) -> None:
        """Delete the session with its records, runs, events and outbound entries. Raises NotFound.

        What its calls have used stays in the totals, and no longer counts for a session.
        """
        ...
