"""Size of a model's reply: bytes, pieces and tool calls, with the limits beyond which it is refused.

A reply is kept in memory, stored, sent to clients and repeated in the next request, so that its size has a bound. The
largest output limit of a current model is 128,000 tokens, about half a megabyte of text.
"""

from collections.abc import Mapping
from typing import cast

from sophon._python.lazy_dataclass import dataclass
from sophon.errors import ResponseTooLarge

MAX_REPLY_BYTES = 4 * 1024 * 1024
"""Default of AgentExecution.MaxReplyBytes: eight times the text of the largest output limit of a current model."""

MAX_PIECES = 500_000
"""Deltas of one reply that say something. A delta is a token or more, and no current model writes half as many; an
empty list entry and a short text take a hundred bytes of memory, so that a megabyte in single letters is a hundred."""

MAX_TOOL_CALLS = 1000
"""Tool calls of one reply; providers allow 128."""

REPLY = "the reply of the model"


@dataclass(slots=True)
class ReplySize:
    """Size of a reply while it arrives; every method that counts raises ResponseTooLarge."""

    max_bytes: int = MAX_REPLY_BYTES
    bytes: int = 0
    pieces: int = 0
    values: int = 0
    """JSON values that were counted beside the pieces, such as blocks of reasoning."""

    def add(self, text: str) -> None:
        """Count a piece of text, of reasoning, or of the name, id or arguments of a call."""
        self.pieces += 1
        self.bytes += len(text) if text.isascii() else count_utf8_bytes(text)
        if self.bytes > self.max_bytes or self.pieces > MAX_PIECES:
            self._refuse()

    def add_value(self, value: object) -> None:
        """Count the texts, keys and numbers of a JSON value; nothing is serialised, and a cycle ends."""
        self.values += 1
        waiting, seen = [value], set[int]()
        while waiting:
            each = waiting.pop()
            if isinstance(each, str):
                self.add(each)
            elif isinstance(each, Mapping | list | tuple):
                if id(cast(object, each)) in seen:
                    continue
                seen.add(id(cast(object, each)))
                waiting += _list_parts(cast(object, each))
            else:
                self.bytes += 8
        if self.bytes > self.max_bytes:
            self._refuse()

    @staticmethod
    def check_call_count(count: int) -> None:
        """Check the number of tool calls so far. Raises ResponseTooLarge."""
        if count > MAX_TOOL_CALLS:
            raise ResponseTooLarge("the list of tool calls of the model", MAX_TOOL_CALLS, "calls")

    def _refuse(self) -> None:
        if self.bytes > self.max_bytes:
            raise ResponseTooLarge(REPLY, self.max_bytes)
        raise ResponseTooLarge(REPLY, MAX_PIECES, "pieces")


def count_utf8_bytes(text: str) -> int:
    """Return the bytes of a text in UTF-8; a half of a surrogate pair counts three."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _list_parts(value: object) -> list[object]:
    if isinstance(value, Mapping):
        entries = cast("Mapping[object, object]", value)
        return [*entries.keys(), *entries.values()]
    return list(cast("list[object]", value))
