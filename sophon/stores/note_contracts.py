"""What channels ask of a store besides the ledger: small things that must survive a restart, each under its own key."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Note:
    """One thing that a channel remembers: whom it has let in, which session a chat is in, what it has dealt with.

    `kind` says what sort of thing, `key` which one; together with channel and account they are unique. `value` is plain
    JSON, `at` when it was last written.
    """

    channel: str
    account: str
    kind: str
    key: str
    value: Mapping[str, Any] = field(default_factory=lambda: {})
    at: datetime | None = None


class ChannelNotes(Protocol):
    """Notes by channel, account, kind and key."""

    async def put(self, note: Note) -> None:
        """Keep it, in place of one with the same key."""
        ...

    async def add(self, note: Note) -> bool:
        """Keep it if there is none with its key; whether it was kept. Of two at once, one is."""
        ...

    async def get(self, channel: str, account: str, kind: str, key: str) -> Note | None:
        """One note."""
        ...

    async def list(self, kind: str, channel: str | None = None, account: str | None = None) -> list[Note]:
        """The notes of a kind, those written first first."""
        ...

    async def remove(self, channel: str, account: str, kind: str, key: str) -> bool:
        """Forget one; whether there was one."""
        ...

    async def expire(self, kind: str, before: datetime) -> int:
        """Forget those of a kind that were last written before a time; how many."""
        ...
