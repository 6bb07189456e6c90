"""Secrets known by value: what the settings resolved in this process, of whatever form it is."""

import re
import threading
from collections.abc import Iterator, Mapping

from sophon.security.secret_encodings import begun_pattern, encoded_pattern

MARKER = "[REDACTED]"
"""Replacement of a secret."""

MIN_CHARACTERS = 8
"""Shorter values, such as `ollama`, occur in ordinary text and are not searched for."""

MAX_VALUES = 1000
"""The oldest value is forgotten beyond this number."""


class KnownSecrets:
    """The values to search for, also in the encodings of `secret_encodings`.

    The pattern is compiled when it is first needed: a host resolves its secrets one after the other.
    """

    def __init__(self) -> None:
        self._values: dict[str, None] = {}
        self._compiled: tuple[dict[str, None], re.Pattern[str] | None] = (self._values, None)
        self._begun: tuple[dict[str, None], list[re.Pattern[str]]] = (self._values, [])
        self._lock = threading.Lock()

    def add(self, value: str) -> None:
        """Search for a value from now on; one that is too short is ignored. Thread-safe."""
        value = value.strip()
        if len(value) < MIN_CHARACTERS or value in self._values or value in MARKER:
            return
        with self._lock:  # otherwise one of two values that are added at the same time is lost
            values = {**self._values, value: None}
            if len(values) > MAX_VALUES:
                del values[next(iter(values))]
            self._values = values

    def snapshot(self) -> Mapping[str, None]:
        """Return the values, for `restore`."""
        return self._values

    def restore(self, values: Mapping[str, None]) -> None:
        """Search for exactly these values again; for a test whose settings end with it."""
        self._values = dict(values)

    def replace(self, text: str, marker: str = MARKER) -> str:
        """Return the text with every known value replaced."""
        pattern = self._pattern()
        return text if pattern is None else pattern.sub(marker, text)

    def find(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the place of every known value in the text."""
        pattern = self._pattern()
        if pattern is not None:
            yield from (match.span() for match in pattern.finditer(text))

    def _pattern(self) -> re.Pattern[str] | None:
        values, compiled = self._values, self._compiled
        if compiled[0] is not values:
            compiled = self._compiled = (values, compile_values(values))
        return compiled[1]

    def find_begun(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield where values that hold a boundary (`BOUNDARY`) begin, and up to which boundary the text agrees.

        A text that is cut within may hold half a value in each part.
        """
        values, begun = self._values, self._begun
        if begun[0] is not values:
            begun = self._begun = (values, [re.compile(each) for each in map(begun_pattern, values) if each])
        for pattern in begun[1]:
            yield from (match.span(1) for match in pattern.finditer(text))


def compile_values(values: "dict[str, None] | frozenset[str] | set[str]") -> re.Pattern[str] | None:
    """Return the pattern of the values, the longest first, because one may be a prefix of another; None without one."""
    known = sorted((value for value in values if len(value) >= MIN_CHARACTERS), key=lambda value: (-len(value), value))
    return re.compile("|".join(map(encoded_pattern, known))) if known else None


KNOWN_SECRETS = KnownSecrets()
"""Of this process: an error text is redacted where it is made, far from the settings that hold the secret."""
