"""Window capacity: how many tokens of a model's window are available for messages."""

from dataclasses import dataclass
from typing import Self

from sophon.models.tokens import TokenCounter

ANSWER_ROOM = 256
"""Tokens reserved for the answer; an eighth of the window if that is less."""

PRECISION = 1_000_000


def answer_room(window: int) -> int:
    """Return the tokens of a window that no request may use."""
    return min(ANSWER_ROOM, window // 8)


@dataclass(frozen=True, slots=True)
class Room:
    """Capacity of a window in the provider's tokens; one of the counter's tokens corresponds to `factor` of them.

    `fixed`, in the counter's tokens, is used in addition to the messages.
    """

    window: int
    fixed: int
    factor: float

    @classmethod
    def of(cls, window: int, fixed: int, tokens: TokenCounter, model_id: str) -> Self:
        """Create the capacity for a model with the counter's present calibration."""
        return cls(window, fixed, tokens.calibrated(PRECISION, model_id) / PRECISION)

    @property
    def most(self) -> int:
        """Maximum size of the messages."""
        return int((self.window - answer_room(self.window)) / self.factor) - self.fixed

    def share(self, share: float) -> int:
        """Return the maximum size of the messages if the whole request may use a share of the window; at most
        `most`.
        """
        return min(int(self.window * share / self.factor) - self.fixed, self.most)

    def used(self, messages: int) -> int:
        """Return the provider's tokens of a request with messages of that size."""
        return round((messages + self.fixed) * self.factor)
