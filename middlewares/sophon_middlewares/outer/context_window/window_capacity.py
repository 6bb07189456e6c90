"""Window capacity: how many tokens of a model's window are available for messages."""

from collections.abc import Sequence
from typing import Self

from sophon._python.lazy_dataclass import dataclass
from sophon.context import Context
from sophon.models.model import ModelRequest
from sophon.models.token_counter import TokenCounter
from sophon.tools.tool import Tool

MIN_ANSWER_TOKENS = 256
"""Tokens reserved for the answer; an eighth of the window if that is less."""

CALIBRATION_PRECISION = 1_000_000

MAX_CACHED_TEXTS = 16


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


class RequestOverhead:
    """Overhead counts of one turn; recounted only if tools or texts change."""

    __slots__ = ("_counter", "_ctx", "_texts", "_tokens", "_tool_tokens", "_tools")

    def __init__(self, ctx: Context, tokens: TokenCounter) -> None:
        self._ctx = ctx
        self._tokens = tokens
        self._counter = tokens.name
        self._tools: Sequence[Tool] = ()
        self._tool_tokens = 0
        self._texts: dict[str, int] = {}

    def count_tokens(self, request: ModelRequest) -> int:
        """Return the overhead in tokens, uncalibrated. Tools count only for models with function calling."""
        if self._counter is not self._tokens.name:
            self._clear()
        total = 0
        if request.tools and request.model.function_calling:
            if request.tools != self._tools:
                self._tools = request.tools
                self._tool_tokens = self._tokens.count_tools(request.tools)
            total = self._tool_tokens
        for overhead in self._ctx.request_overheads:
            if text := overhead(request):
                total += self._count_text(text)
        return total

    def _count_text(self, text: str) -> int:
        size = self._texts.get(text)
        if size is None:
            if len(self._texts) >= MAX_CACHED_TEXTS:
                self._texts.clear()
            size = self._texts[text] = self._tokens.count_text(text)
        return size

    def _clear(self) -> None:
        """Clear the caches after the counter has changed: a tokenizer was loaded."""
        self._counter, self._tools = self._tokens.name, ()
        self._texts.clear()
