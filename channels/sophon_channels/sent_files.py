"""Files that a platform holds already: their ids there, by content, so that the same bytes are not uploaded again."""

import hashlib
from collections import OrderedDict
from datetime import timedelta
from typing import BinaryIO

from sophon.clock import Clock

CHUNK_BYTES = 1024 * 1024
MAX_FILES = 1_000
"""Files that are remembered; the one that was used longest ago is forgotten."""


class SentFiles:
    """Ids of one account's uploads, in memory, each for `lifetime`. After a restart a file is uploaded again."""

    def __init__(self, clock: Clock, lifetime: timedelta) -> None:
        self._clock, self._lifetime = clock, lifetime.total_seconds()
        self._ids: OrderedDict[str, tuple[str, float]] = OrderedDict()

    def find(self, key: str) -> str | None:
        """Return the platform's id of a file; None if it is not known, or has expired."""
        found = self._ids.get(key)
        if found is None or self._clock.monotonic() >= found[1]:
            self._ids.pop(key, None)
            return None
        self._ids.move_to_end(key)
        return found[0]

    def record(self, key: str, file_id: str) -> None:
        """Remember the id of a file that was uploaded."""
        self._ids[key] = (file_id, self._clock.monotonic() + self._lifetime)
        self._ids.move_to_end(key)
        while len(self._ids) > MAX_FILES:
            self._ids.popitem(last=False)

    def forget(self, key: str) -> None:
        """Forget a file, because the platform does."""
        self._ids.pop(key, None)


def build_file_key(stream: BinaryIO, *properties: str) -> str:
    """Return the key of a file: its content, and the name and type under which it is shown. Blocks."""
    digest = hashlib.sha256()
    while chunk := stream.read(CHUNK_BYTES):
        digest.update(chunk)
    stream.seek(0)
    return "\n".join([digest.hexdigest(), *properties])
