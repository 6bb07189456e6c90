"""Window capacity: how many tokens of a model's window are available for messages."""

from typing import Self

from sophon.lazy_dataclass import dataclass
from sophon.models.token_counter import TokenCounter

MIN_ANSWER_TOKENS = 256
"""Tokens reserved for the answer; an eighth of the window if that is less."""

CALIBRATION_PRECISION = 1_000_000


def reserved_answer_tokens(window: int) -> int:
    """Return the tokens of a window that no request may use."""
    return min(MIN_ANSWER_TOKENS, window // 8)


@dataclass(frozen=True, slots=True)
class WindowCapacity:
    """Capacity of a window in the provider's tokens; one of the counter's tokens corresponds to `factor` of them.

    `overhead_tokens`, in the counter's tokens, is used in addition to the messages.
    """

    window: int
    overhead_tokens: int
    factor: float

    @classmethod
    def for_model(cls, window: int, overhead_tokens: int, tokens: TokenCounter, model_id: str) -> Self:
        """Create the capacity for a model with the counter's present calibration."""
        return cls(window, overhead_tokens, tokens.calibrate(CALIBRATION_PRECISION, model_id) / CALIBRATION_PRECISION)

    @property
    def max_message_tokens(self) -> int:
        """Maximum size of the messages."""
        return int((self.window - reserved_answer_tokens(self.window)) / self.factor) - self.overhead_tokens

    def message_tokens_for_share(self, share: float) -> int:
        """Return the maximum size of the messages if the whole request may use a share of the window; at most
        `max_message_tokens`.
        """
        return min(int(self.window * share / self.factor) - self.overhead_tokens, self.max_message_tokens)

    def message_tokens_for_total(self, tokens: int) -> int:
        """Return the maximum size of the messages if the whole request may use that many of the provider's tokens; 0
        if the rest alone takes more.
        """
        return max(int(tokens / self.factor) - self.overhead_tokens, 0)

    def request_tokens(self, message_tokens: int) -> int:
        """Return the provider's tokens of a request with messages of that size."""
        return round((message_tokens + self.overhead_tokens) * self.factor)
