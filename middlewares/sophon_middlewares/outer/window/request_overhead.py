"""Request overhead: tokens of a request besides its messages (tool schemas, text that other call layers add)."""

from collections.abc import Sequence

from sophon.context import Context
from sophon.models.model import ModelRequest
from sophon.models.token_counter import TokenCounter
from sophon.tools.tool import Tool

MAX_CACHED_TEXTS = 16


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
