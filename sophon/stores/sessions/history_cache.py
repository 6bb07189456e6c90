"""LRU cache of decoded histories, bounded by bytes over all sessions, so that a turn reads only what is new.

A cached history is never changed: a load that finds new records puts a new one in its place. What it says about a
session is verified with every load, in the query for the new records: see `sql_history.py`. Its messages keep their
token count and their provider JSON between turns (`Message.tokens`, `Message.wire`).
"""

import sys
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import field
from datetime import datetime

from sophon._python.lazy_dataclass import dataclass, new_dict
from sophon.messages import Compaction, Message

MAX_CACHED_BYTES = 32 * 1024 * 1024
"""Bytes of all cached histories together: about 20,000 messages of 500 characters."""
MESSAGE_BYTES = 640
"""Bytes of a message and its fields, the texts left out."""

SessionIdentity = tuple[int, datetime]
"""Row number and time of creation: a session that was deleted and created again is another one."""


@dataclass(frozen=True, slots=True)
class CachedHistory:
    """The messages of a session up to the record `last_seq`, and the newest compaction among these records."""

    identity: SessionIdentity
    last_seq: int
    messages: Sequence[Message]
    compaction: Compaction | None
    size_bytes: int
    prefix_cache: dict[str, tuple[int, int]] = field(default_factory=new_dict)


@dataclass(frozen=True, slots=True)
class HistoryCacheStatistics:
    """Histories in the cache, and their bytes."""

    histories: int
    size_bytes: int


class HistoryCache:
    """Histories by session id; beyond `max_bytes` the ones that were used longest ago are evicted.

    `generation` grows with every deletion: a history that was read before a deletion is not cached after it.
    """

    def __init__(self, max_bytes: int = MAX_CACHED_BYTES) -> None:
        self.generation = 0
        self._max_bytes = max_bytes
        self._size_bytes = 0
        self._histories: OrderedDict[str, CachedHistory] = OrderedDict()
        # A store may be used in several event loops.
        self._lock = threading.Lock()

    def get(self, session_id: str) -> CachedHistory | None:
        """Return the cached history of a session, which is then the last to be evicted; None if there is none."""
        with self._lock:
            history = self._histories.get(session_id)
            if history is not None:
                self._histories.move_to_end(session_id)
            return history

    def put(self, session_id: str, history: CachedHistory, generation: int) -> None:
        """Cache a history that was read in `generation`; one that is larger than the whole cache is not kept."""
        with self._lock:
            known = self._histories.get(session_id)
            # A concurrent load may have seen more of the same session.
            has_newer = known and known.identity == history.identity and known.last_seq > history.last_seq
            if generation != self.generation or has_newer:
                return
            self._remove(session_id)
            if history.size_bytes > self._max_bytes:
                return
            self._histories[session_id] = history
            self._size_bytes += history.size_bytes
            while self._size_bytes > self._max_bytes:
                self._remove(next(iter(self._histories)))

    def invalidate(self, session_id: str) -> None:
        """Forget a session that is deleted."""
        with self._lock:
            self.generation += 1
            self._remove(session_id)

    def clear(self) -> None:
        """Forget all sessions."""
        with self._lock:
            self.generation += 1
            self._histories.clear()
            self._size_bytes = 0

    def statistics(self) -> HistoryCacheStatistics:
        """Return what the cache holds."""
        with self._lock:
            return HistoryCacheStatistics(len(self._histories), self._size_bytes)

    def _remove(self, session_id: str) -> None:
        history = self._histories.pop(session_id, None)
        if history is not None:
            self._size_bytes -= history.size_bytes


def estimate_bytes(message: Message) -> int:
    """Return about how many bytes a message takes in memory once it is counted and serialised."""
    size = MESSAGE_BYTES + 2 * sys.getsizeof(message.content)  # the text, and once more as JSON
    for call in message.tool_calls:
        # The arguments as values, as canonical JSON, and once more in the message's JSON.
        size += MESSAGE_BYTES + 3 * len(call.canonical_arguments())
    size += sum(MESSAGE_BYTES + len(image.data) for image in message.images)
    size += MESSAGE_BYTES * len(message.attachments)
    if message.reasoning is not None:
        size += MESSAGE_BYTES + sys.getsizeof(message.reasoning.text)
        size += sum(len(str(value)) for value in message.reasoning.fields.values())
    return size
