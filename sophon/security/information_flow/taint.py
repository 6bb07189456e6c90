"""Taint: what the information flow knows of the contents of a session, a file or a memory entry."""

from collections.abc import Sequence
from typing import Any, Final

from sophon._python.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Taint:
    """What a session or a file contains: the highest label, private data or not, untrusted content or not."""

    label: int = 0
    is_private: bool = False
    is_untrusted: bool = False

    def merge(self, other: "Taint") -> "Taint":
        """Return the taint of what contains both."""
        if other is self or other == UNTAINTED:
            return self
        return Taint(
            max(self.label, other.label),
            self.is_private or other.is_private,
            self.is_untrusted or other.is_untrusted,
        )

    def to_json(self) -> list[Any]:
        """Return the taint as JSON data."""
        return [self.label, self.is_private, self.is_untrusted]

    @classmethod
    def from_json(cls, data: Sequence[Any]) -> "Taint":
        """Read what `to_json` returned; nothing is no taint."""
        return cls(*data)


UNTAINTED: Final = Taint()
