"""A dialect: how tools are described to a model without function calling, and how it writes its calls."""

from collections.abc import Sequence
from typing import Protocol

from sophon.messages import ToolCall
from sophon.tools.tool import Tool
from sophon_middlewares.outer.prompt_tool_bridge.tool_tags import TagSet


class CallScanner(Protocol):
    """Finds the calls in a reply that arrives in pieces; `feed` and `close` return the text that has become visible.

    Neither text nor calls depend on how the text was chunked.
    """

    def feed(self, text: str) -> str:
        """Process the next piece of the reply; return the text that has become visible."""
        ...

    def close(self) -> str:
        """Process the end of the reply; return the remaining visible text."""
        ...

    @property
    def calls(self) -> list[ToolCall]:
        """The calls of the reply, in the order of the text, each with the id ""; complete after `close`."""
        ...


class CallDialect(Protocol):
    """One way to write tools and calls as text. A scanner reads what `render_calls` has written as the same calls."""

    @property
    def tags(self) -> TagSet:
        """The tags that the dialect uses, and that must not occur in tool results."""
        ...

    def build_tool_prompt(self, tools: tuple[Tool, ...]) -> str:
        """Return the system prompt's section on the tools; without tools, that none can be called."""
        ...

    def render_calls(self, calls: Sequence[ToolCall]) -> str:
        """Return the calls of one reply as the model would have written them."""
        ...

    def open_scanner(self, tools: Sequence[Tool]) -> CallScanner:
        """Return a scanner of one reply of a model that was offered these tools."""
        ...


def scan_reply(text: str, scanner: CallScanner) -> tuple[str, list[ToolCall]]:
    """Return the visible text of a whole reply, and its calls."""
    return scanner.feed(text) + scanner.close(), scanner.calls
