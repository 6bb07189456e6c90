"""Visible text of a reply from which tags and blocks are removed."""

from sophon_middlewares.outer.bridge.code_fences import CodeFenceTracker


class VisibleTextBuffer:
    """Buffer of visible text: `append` adds text, `mark_removed` marks a removal, `take` returns the new visible text.

    White space after a removal at the beginning of a line is removed too, and so is white space before a removal at the
    very beginning, so that no empty lines remain. Text without removals stays unchanged.
    """

    __slots__ = ("_fences", "_is_empty", "_leading", "_pieces", "_skip_blanks")

    def __init__(self) -> None:
        self._fences = CodeFenceTracker()
        self._pieces: list[str] = []
        self._leading: list[str] = []
        self._skip_blanks = True
        self._is_empty = True
        """Whether nothing but white space was shown or removed so far."""

    @property
    def in_code_fence(self) -> bool:
        """Whether the next text is inside a code fence."""
        return self._fences.is_open

    def append(self, text: str) -> None:
        """Add visible text."""
        if self._skip_blanks:
            stripped = text.lstrip()
            if self._is_empty:
                self._leading.append(text[: len(text) - len(stripped)])
            if not stripped:
                return
            text = "".join(self._leading) + stripped
            self._leading.clear()
            self._skip_blanks = self._is_empty = False
        self._fences.feed(text)
        self._pieces.append(text)

    def mark_removed(self) -> None:
        """Mark that something was removed here."""
        if self._is_empty:
            self._leading.clear()
            self._is_empty = False
        elif self._fences.is_at_line_start:
            self._skip_blanks = True

    def take(self) -> str:
        """Return the text that has become visible since the last call."""
        text = "".join(self._pieces)
        self._pieces.clear()
        return text

    def close(self) -> str:
        """Return the remaining text."""
        return self.take() + "".join(self._leading)
