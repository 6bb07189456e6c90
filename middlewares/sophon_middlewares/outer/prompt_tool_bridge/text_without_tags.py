"""Visible text of a reply from which tags and blocks are removed."""

from enum import Enum, auto

_FENCE_CHARACTERS = "`~"

_MIN_FENCE_LENGTH = 3

_BEFORE_OPENING = frozenset(" \t>-*+.)0123456789")

_BEFORE_CLOSING = frozenset(" \t>")

_AFTER_CLOSING = frozenset(" \t\r")


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


class _Stage(Enum):
    """Parser state within a line."""

    HEAD = auto()
    """Only characters so far that may precede a fence."""
    RUN = auto()
    """In the run of characters that may be a fence."""
    INFO = auto()
    """After the run of an opening backtick fence."""
    BLANK = auto()
    """After a run that closes the fence unless something else follows."""
    REST = auto()
    """The rest of the line is irrelevant."""


class CodeFenceTracker:
    """Fence state machine: `feed` every piece, then read `is_open`. Linear time, constant memory.

    After CommonMark 0.31, 4.5, extended for what models write: any indentation counts, also in quotes (`>`) and list
    items, and on the line of an opening backtick fence an equally long run closes it again. Inline code is no fence.
    """

    __slots__ = ("_character", "_length", "_run", "_stage", "is_open")

    def __init__(self) -> None:
        self.is_open = False
        """Whether the next character is inside a fence."""
        self._stage = _Stage.HEAD
        self._character: str = ""
        self._length: int = 0
        self._run: int = 0

    @property
    def is_at_line_start(self) -> bool:
        """Whether the line so far holds only characters that may precede a fence, such as blanks."""
        return self._stage is _Stage.HEAD

    def feed(self, text: str) -> None:
        """Process the next piece of the text."""
        position = 0
        while position < len(text):
            if self._stage is _Stage.REST:
                position = text.find("\n", position)
                if position < 0:
                    return
            self._step(text[position])
            position += 1

    def _step(self, character: str) -> None:
        if self._stage is _Stage.RUN and not self._in_run(character):
            self._end_run()
        if character == "\n":
            if self._stage is _Stage.BLANK:
                self.is_open = False
            self._stage = _Stage.HEAD
        elif self._stage is _Stage.HEAD:
            self._head(character)
        elif self._stage is _Stage.INFO:
            self._info(character)
        elif self._stage is _Stage.BLANK and character not in _AFTER_CLOSING:
            self._stage = _Stage.REST

    def _head(self, character: str) -> None:
        if character in (self._character if self.is_open else _FENCE_CHARACTERS):
            self._stage, self._run, self._character = _Stage.RUN, 1, character
        elif character not in (_BEFORE_CLOSING if self.is_open else _BEFORE_OPENING):
            self._stage = _Stage.REST

    def _in_run(self, character: str) -> bool:
        if character != self._character:
            return False
        self._run += 1
        if not self.is_open and self._run == _MIN_FENCE_LENGTH:
            self.is_open, self._length = True, 0
        return True

    def _end_run(self) -> None:
        if self.is_open and not self._length:
            self._length, self._run = self._run, 0
            self._stage = _Stage.INFO if self._character == "`" else _Stage.REST
        else:
            self._stage = _Stage.BLANK if self.is_open and self._run >= self._length else _Stage.REST

    def _info(self, character: str) -> None:
        self._run = self._run + 1 if character == self._character else 0
        if self._run == self._length:
            self.is_open, self._stage = False, _Stage.REST
