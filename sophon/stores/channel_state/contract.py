"""The channel state's contract: small values that channels keep across restarts, each under its own key."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from typing import Any, Protocol

from sophon._python.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ChannelStateEntry:
    """A stored value of a channel, for example a paired person, a chat's session, a processed update.

    `kind` names the sort of value and `key` identifies it; channel, account, kind and key together are unique. `value`
    is plain JSON; `at` is the time of the last write.
    """

    channel: str
    account: str
    kind: str
    key: str
    value: Mapping[str, Any] = field(default_factory=lambda: {})
    at: datetime | None = None


class ChannelStateStore(Protocol):
    """Repository of channel state, keyed by channel, account, kind and key."""

    async def put(self, entry: ChannelStateEntry) -> None:
        """Store an entry; replaces one with the same key."""
        ...

    async def put_many(self, entries: Sequence[ChannelStateEntry]) -> None:
        """Store entries, all or none, in one write; like `put` for each. No key may occur twice."""
        ...

    async def add(self, entry: ChannelStateEntry) -> bool:
        """Store an entry unless its key exists; return whether it was stored. Of two concurrent calls one stores."""
        ...

    async def get(self, channel: str, account: str, kind: str, key: str) -> ChannelStateEntry | None:
        """Return one entry, or None."""
        ...

    async def find_keys(self, channel: str, account: str, kind: str, keys: Collection[str]) -> frozenset[str]:
        """Return those of the keys that have an entry."""
        ...

    async def list(self, kind: str, channel: str | None = None, account: str | None = None) -> list[ChannelStateEntry]:
        """Return the entries of a kind in the order in which their keys were first written."""
        ...

    async def remove(self, channel: str, account: str, kind: str, key: str) -> bool:
        """Delete an entry; return whether it existed."""
        ...

    async def expire(self, kind: str, before: datetime) -> int:
        """Delete the entries of a kind that were last written before a time; return how many."""
        ...
