"""How much of a model's window is left for messages, in the counter's own tokens."""

from dataclasses import dataclass
from typing import Self

from sophon.models.tokens import TokenCounter

ANSWER_ROOM = 256
"""Tokens that are always left for the answer; an eighth of a window of under eight times as much."""

PRECISION = 1_000_000


def answer_room(window: int) -> int:
    """Tokens of a window that no request may fill."""
    return min(ANSWER_ROOM, window // 8)


@dataclass(frozen=True, slots=True)
class Room:
    """Of a window in the provider's tokens, of which the counter finds one in `factor`; `fixed`, in the counter's
    tokens, comes on top of the messages.
    """

    window: int
    fixed: int
    factor: float

    @classmethod
    def of(cls, window: int, fixed: int, tokens: TokenCounter, model_id: str) -> Self:
        """The room of a model as the counter is calibrated now."""
        return cls(window, fixed, tokens.calibrated(PRECISION, model_id) / PRECISION)

    @property
    def most(self) -> int:
        """The messages may not be larger than this."""
        return int((self.window - answer_room(self.window)) / self.factor) - self.fixed

    def share(self, share: float) -> int:
        """How large the messages may be when the whole request shall take a share of the window; at most `most`."""
        return min(int(self.window * share / self.factor) - self.fixed, self.most)

    def used(self, messages: int) -> int:
        """What messages of that size take of the window, all else included."""
        return round((messages + self.fixed) * self.factor)
