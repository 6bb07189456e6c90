"""API keys of one provider: rotation, cool-down per key and model, and rejected keys."""

from collections.abc import Sequence
from typing import NamedTuple

from sophon._python.lazy_dataclass import dataclass
from sophon.clock import Clock

COOLDOWN_SECONDS = 60.0
"""Default cool-down of a key. Source: Sophon's guide, LLM invoker."""

MAX_COOLDOWN_SECONDS = 3600.0
"""Longest cool-down that a provider can request; then the key is tried again. A wrong or hostile `Retry-After` would
otherwise disable a key for as long as the process lives."""


@dataclass(frozen=True, slots=True)
class ApiKeyStatistics:
    """Key counts of a provider; `cooling` counts the keys that are cooling down for at least one model."""

    total: int
    cooling: int
    disabled: int
    available_in_seconds: float = 0.0
    """Seconds until a key is available for every model of the provider; 0 if one is, or if all keys are disabled."""


class _Cooldown(NamedTuple):
    until: float
    is_provider_requested: bool


class ApiKeyPool:
    """Pool of a provider's API keys; uses one key until it must cool down, then rotates to the next available one.

    Staying on one key keeps the provider's prompt cache valid. A cool-down applies to a key and a model, so that other
    models stay usable with the same key. A disabled key (401, 403) is not used again in this process, unless an
    operator resets the pool. Both are kept in memory only, so that a restart ends them. Keys never appear in the repr
    or in the statistics.
    """

    __slots__ = ("_clock", "_cooldowns", "_current", "_disabled", "_keys")

    def __init__(self, keys: Sequence[str], clock: Clock) -> None:
        if not keys:
            raise ValueError("at least one key is needed; a provider without keys gets no pool")
        self._keys = tuple(dict.fromkeys(keys))
        self._clock = clock
        self._current = 0
        self._disabled: set[str] = set()
        self._cooldowns: dict[tuple[str, str | None], _Cooldown] = {}

    def __len__(self) -> int:
        return len(self._keys)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self._keys)} keys)"

    def find_number(self, key: str) -> int | None:
        """Return the number of a key, from 0; None for one that the pool does not have."""
        return self._keys.index(key) if key in self._keys else None

    @property
    def is_exhausted(self) -> bool:
        """Whether every key is disabled."""
        return len(self._disabled) == len(self._keys)

    def next_key(self, model: str | None = None) -> str | None:
        """Return the current key if it is available for the model, else the next available one, else None."""
        if not self._cooldowns and not self._disabled:
            return self._keys[self._current]
        now = self._clock.monotonic()
        count = len(self._keys)
        for step in range(count):
            index = (self._current + step) % count
            key = self._keys[index]
            if key not in self._disabled and self._cooldown(key, model).until <= now:
                self._current = index
                return key
        return None

    def earliest_key(self, model: str | None = None) -> str | None:
        """Return the key whose cool-down ends first; None if every key is disabled.

        A cool-down that the provider requested is kept as long as another key is left: only the pool's own cool-down
        may be cut short.
        """
        enabled = [key for key in self._keys if key not in self._disabled]
        return min(
            enabled,
            key=lambda key: (self._cooldown(key, model).is_provider_requested, self._cooldown(key, model).until),
            default=None,
        )

    def retry_after_seconds(self, model: str | None = None) -> float | None:
        """Return the seconds until a key is available if the provider requested every cool-down; otherwise None."""
        cooldowns = [self._cooldown(key, model) for key in self._keys if key not in self._disabled]
        if not cooldowns or not all(cooldown.is_provider_requested for cooldown in cooldowns):
            return None
        return max(0.0, min(cooldown.until for cooldown in cooldowns) - self._clock.monotonic())

    def cool_down(
        self,
        key: str,
        seconds: float = COOLDOWN_SECONDS,
        model: str | None = None,
        *,
        is_provider_requested: bool = False,
    ) -> None:
        """Start a cool-down of a key for one model, or for all (None). `is_provider_requested`: the provider requested
        the time.
        """
        now = self._clock.monotonic()
        self._cooldowns = {scope: cooldown for scope, cooldown in self._cooldowns.items() if cooldown.until > now}
        self._cooldowns[key, model] = _Cooldown(now + seconds, is_provider_requested)

    def end_cooldown(self, key: str, model: str | None = None) -> None:
        """End the cool-down of a key for a model, because the provider just accepted it."""
        if self._cooldowns:
            self._cooldowns.pop((key, model), None)

    def disable_key(self, key: str) -> None:
        """Disable a key that the provider rejected, for the lifetime of the process."""
        self._disabled.add(key)

    def reset(self) -> None:
        """End every cool-down and enable every key again, because an operator says so."""
        self._cooldowns.clear()
        self._disabled.clear()

    def seconds_until_available(self, model: str | None = None) -> float:
        """Return the seconds until a key is available for the model; 0 if one is, or if every key is disabled."""
        enabled = [self._cooldown(key, model).until for key in self._keys if key not in self._disabled]
        return max(0.0, min(enabled, default=0.0) - self._clock.monotonic())

    def statistics(self) -> ApiKeyStatistics:
        """Return the number of keys in total, cooling down and disabled, and when one is available for every model."""
        now = self._clock.monotonic()
        cooling = {key for (key, _), cooldown in self._cooldowns.items() if cooldown.until > now} - self._disabled
        models = {model for _, model in self._cooldowns}
        available = max((self.seconds_until_available(model) for model in models), default=0.0)
        return ApiKeyStatistics(len(self._keys), len(cooling), len(self._disabled), available)

    def _cooldown(self, key: str, model: str | None) -> _Cooldown:
        scoped, unscoped = (
            self._cooldowns.get((key, model), _NO_COOLDOWN),
            self._cooldowns.get((key, None), _NO_COOLDOWN),
        )
        return max(scoped, unscoped)


_NO_COOLDOWN = _Cooldown(float("-inf"), False)
