"""Taps on a streamed reply: whether any text reached the caller, and what the model produced in one attempt."""

import asyncio
from collections.abc import Callable

from sophon._python.joined_text import add_piece
from sophon.invisible_characters import is_blank
from sophon.models.model import OnText
from sophon.models.reply_size import ReplySize


class OutputLatch:
    """Latch around the caller's listener: `has_output` is set by the first visible text, after which no attempt is
    repeated.

    Blank text waits for visible text, because nobody has seen it; `restart` discards it with the attempt it is of.
    """

    __slots__ = ("_blanks", "_on_text", "has_output")

    def __init__(self, on_text: OnText) -> None:
        self._on_text = on_text
        self._blanks: list[str] = []
        self.has_output = False

    def __call__(self, text: str) -> None:
        if not self.has_output:
            self._blanks.append(text)
            if is_blank(text):
                return
            text = "".join(self._blanks)
            self._blanks.clear()
            self.has_output = True
        if text:
            self._on_text(text)

    def restart(self) -> None:
        """Discard the blank text of an earlier attempt."""
        self._blanks.clear()


class StreamTap:
    """Tap on one attempt, next to the model: `pieces` is the text produced, whether or not a layer lets it through.

    If the listener has a `restart` method, it is called when the attempt starts, so that the listener discards text
    held back from an earlier attempt. `listener_error` is the exception that the listener raised, which is not the
    provider's. `reasoning` is the tap on the attempt's reasoning, if that is streamed too; both count into `size`.
    `first_at` is the time `now()` of the first text; None before, and without `now`.
    """

    __slots__ = ("_check", "_now", "_on_text", "_size", "first_at", "listener_error", "pieces", "reasoning")

    def __init__(
        self,
        on_text: OnText,
        check: Callable[[], None] | None,
        size: ReplySize | None = None,
        now: Callable[[], float] | None = None,
    ) -> None:
        self._on_text = on_text
        self._check = check
        self._size = size or ReplySize()
        self._now = now
        self.first_at: float | None = None
        self.pieces: list[str] = []
        self.listener_error: BaseException | None = None
        self.reasoning: StreamTap | None = None
        restart = getattr(on_text, "restart", None)
        if restart is not None:
            restart()

    @property
    def produced_text(self) -> str:
        """All that the model has produced in this attempt, its reasoning included."""
        return "".join([*(self.reasoning.pieces if self.reasoning is not None else ()), *self.pieces])

    def has_raised(self, error: BaseException) -> bool:
        """Return whether a listener of this attempt raised the error."""
        return self.listener_error is error or (self.reasoning is not None and self.reasoning.has_raised(error))

    def __call__(self, text: str) -> None:
        if not text:
            return
        if self.first_at is None and self._now is not None:
            self.first_at = self._now()
        # Before the text is kept or shown; outside of the block below, because it is not the listener's error.
        self._size.add(text)
        add_piece(self.pieces, text)
        try:
            if self._check is not None:
                self._check()
            self._on_text(text)
        except (Exception, asyncio.CancelledError) as error:
            self.listener_error = error
            raise
