"""The keys of one provider: which is used, which rests, which was refused."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sophon.clock import Clock

COOL_SECONDS = 60.0
"""Source: reference/sophon.md 5.12."""


@dataclass(frozen=True, slots=True)
class KeyStatistics:
    """`cooling` counts the keys that rest for at least one model."""

    total: int
    cooling: int
    disabled: int


class _Rest(NamedTuple):
    until: float
    asked: bool


class KeyRing:
    """Keeps to one key until it has to rest, so that the provider's prompt cache holds; then takes the next free one.

    A rest is scoped by key and model: a sibling model stays usable with the same key. A disabled key (401, 403) is not
    used again in this process. Keys never stand in a repr or in the statistics.
    """

    __slots__ = ("_clock", "_current", "_disabled", "_keys", "_rests")

    def __init__(self, keys: Sequence[str], clock: Clock) -> None:
        if not keys:
            raise ValueError("a ring needs at least one key; a provider without keys has no ring")
        self._keys = tuple(dict.fromkeys(keys))
        self._clock = clock
        self._current = 0
        self._disabled: set[str] = set()
        self._rests: dict[tuple[str, str | None], _Rest] = {}

    def __len__(self) -> int:
        return len(self._keys)

    def __repr__(self) -> str:
        return f"KeyRing({len(self._keys)} keys)"

    @property
    def exhausted(self) -> bool:
        """Every key was refused."""
        return len(self._disabled) == len(self._keys)

    def next(self, model: str | None = None) -> str | None:
        """The key in use if it is free for the model, else the next free one, else None."""
        if not self._rests and not self._disabled:
            return self._keys[self._current]
        now = self._clock.monotonic()
        count = len(self._keys)
        for step in range(count):
            index = (self._current + step) % count
            key = self._keys[index]
            if key not in self._disabled and self._rest(key, model).until <= now:
                self._current = index
                return key
        return None

    def soonest(self, model: str | None = None) -> str | None:
        """The key whose rest ends first; None when every key was refused."""
        enabled = [key for key in self._keys if key not in self._disabled]
        return min(enabled, key=lambda key: self._rest(key, model).until, default=None)

    def hint(self, model: str | None = None) -> float | None:
        """Seconds until a key is free, when the provider itself asked every resting key to wait; else None."""
        rests = [self._rest(key, model) for key in self._keys if key not in self._disabled]
        if not rests or not all(rest.asked for rest in rests):
            return None
        return max(0.0, min(rest.until for rest in rests) - self._clock.monotonic())

    def cool(self, key: str, seconds: float = COOL_SECONDS, model: str | None = None, *, asked: bool = False) -> None:
        """Let a key rest for one model, or for all (None); `asked` tells that the provider named the time."""
        now = self._clock.monotonic()
        self._rests = {scope: rest for scope, rest in self._rests.items() if rest.until > now}
        self._rests[key, model] = _Rest(now + seconds, asked)

    def warm(self, key: str, model: str | None = None) -> None:
        """The key was just accepted for the model: its rest is over."""
        if self._rests:
            self._rests.pop((key, model), None)

    def disable(self, key: str) -> None:
        """The key was refused."""
        self._disabled.add(key)

    def statistics(self) -> KeyStatistics:
        """What the ring holds now."""
        now = self._clock.monotonic()
        cooling = {key for (key, _), rest in self._rests.items() if rest.until > now} - self._disabled
        return KeyStatistics(len(self._keys), len(cooling), len(self._disabled))

    def _rest(self, key: str, model: str | None) -> _Rest:
        own, every = self._rests.get((key, model), _NO_REST), self._rests.get((key, None), _NO_REST)
        return max(own, every)


_NO_REST = _Rest(float("-inf"), False)
