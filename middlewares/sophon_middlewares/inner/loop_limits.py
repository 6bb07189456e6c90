"""Thresholds of the loop detector."""

from typing import Self

from sophon.lazy_dataclass import dataclass
from sophon.settings import LoopDetectionSettings


@dataclass(frozen=True, slots=True)
class LoopLimits:
    """Thresholds in calls, defaults those of the settings AgentExecution.LoopDetection; None turns a threshold off.

    `criticals` is the number of refused calls that ends the turn. Raises ValueError for a number below 1.
    """

    window: int = 30
    repeat_warning: int | None = 10
    repeat_critical: int | None = 20
    repeat_breaker: int | None = 30
    poll_warning: int | None = 3
    poll_critical: int | None = 5
    ping_pong_window: int | None = 6
    ping_pong_critical: int | None = 10
    no_progress_critical: int | None = 30
    criticals: int = 3

    def __post_init__(self) -> None:
        for name in self.__slots__:
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} is {value!r}; it must be at least 1, or None to turn it off")

    @classmethod
    def from_settings(cls, settings: LoopDetectionSettings) -> Self:
        """Return the thresholds of a host."""
        return cls(**settings.model_dump())


def find_lowest_refusal(limits: LoopLimits) -> int | None:
    """Return how often a call is in the window before any threshold of refusal by its count can be reached."""
    pair = None if limits.ping_pong_critical is None else limits.ping_pong_critical // 2
    thresholds = (limits.poll_critical, limits.repeat_critical, limits.repeat_breaker, pair)
    return min((each for each in thresholds if each is not None), default=None)
