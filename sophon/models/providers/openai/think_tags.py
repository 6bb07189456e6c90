"""Reasoning between `<think>` tags at the beginning of a text, as many local models write it."""

OPENING_TAG = "<think>"
CLOSING_TAG = "</think>"


class ThinkTagScanner:
    """Incremental scanner: separates one `<think>` block at the very beginning of a text from the rest.

    A tag after the first visible character is text, because an answer may quote it. A block that is never closed is
    reasoning to its end.
    """

    __slots__ = ("_buffer", "_has_reasoning", "_reasoning", "_state")

    def __init__(self) -> None:
        self._buffer = ""
        self._state = "start"
        self._reasoning: list[str] = []
        self._has_reasoning = False

    def feed(self, text: str) -> str:
        """Add text; return the part that is visible."""
        if self._state == "text":
            return text
        self._buffer += text
        if self._state == "start":
            self._find_opening_tag()
        if self._state == "reasoning":
            self._find_closing_tag()
        if self._state == "gap":
            self._buffer = self._buffer.lstrip()
            self._state = "text" if self._buffer else "gap"
        if self._state != "text":
            return ""
        visible, self._buffer = self._buffer, ""
        return visible

    def take_reasoning(self) -> str:
        """Return the reasoning that was found since the last call."""
        text = "".join(self._reasoning)
        self._reasoning.clear()
        return text

    def close(self) -> str:
        """Return the visible rest at the end of the text."""
        rest, self._buffer = self._buffer, ""
        if self._state == "reasoning":
            self._reasoning.append(rest)
            return ""
        return rest if self._state == "start" else ""

    def _find_opening_tag(self) -> None:
        begin = self._buffer.lstrip()
        if begin.startswith(OPENING_TAG):
            self._buffer, self._state = begin[len(OPENING_TAG) :], "reasoning"
        elif not OPENING_TAG.startswith(begin):
            self._state = "text"

    def _find_closing_tag(self) -> None:
        if not self._has_reasoning:
            self._buffer = self._buffer.lstrip("\n")
        before, tag, after = self._buffer.partition(CLOSING_TAG)
        if tag:
            self._reasoning.append(before.rstrip("\n"))
            self._buffer, self._state = after, "gap"
            return
        # The end may be the beginning of the closing tag, or a line break in front of it.
        kept = len(self._buffer) - len(self._buffer.rstrip("\n"))
        for length in range(min(len(CLOSING_TAG) - 1, len(self._buffer)), 0, -1):
            if CLOSING_TAG.startswith(self._buffer[-length:]):
                body = self._buffer[:-length]
                kept = length + len(body) - len(body.rstrip("\n"))
                break
        split = len(self._buffer) - kept
        self._has_reasoning = self._has_reasoning or split > 0
        self._reasoning.append(self._buffer[:split])
        self._buffer = self._buffer[split:]
