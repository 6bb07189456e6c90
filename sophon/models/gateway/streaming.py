"""Taps on a streamed reply: whether any text reached the caller, and what the model produced in one attempt."""

from collections.abc import Callable

from sophon.models.model import OnText


class OutputLatch:
    """Latch around the caller's listener: `has_output` is set by the first text, after which no attempt is repeated."""

    __slots__ = ("_on_text", "has_output")

    def __init__(self, on_text: OnText) -> None:
        self._on_text = on_text
        self.has_output = False

    def __call__(self, text: str) -> None:
        if text:
            self.has_output = True
            self._on_text(text)


class StreamTap:
    """Tap on one attempt, next to the model: `pieces` is the text produced, whether or not a layer lets it through.

    If the listener has a `restart` method, it is called when the attempt starts, so that the listener discards text
    held back from an earlier attempt. `listener_error` is the exception that the listener raised, which is not the
    provider's.
    """

    __slots__ = ("_check", "_on_text", "listener_error", "pieces")

    def __init__(self, on_text: OnText, check: Callable[[], None] | None) -> None:
        self._on_text = on_text
        self._check = check
        self.pieces: list[str] = []
        self.listener_error: Exception | None = None
        restart = getattr(on_text, "restart", None)
        if restart is not None:
            restart()

    def __call__(self, text: str) -> None:
        if not text:
            return
        self.pieces.append(text)
        try:
            if self._check is not None:
                self._check()
            self._on_text(text)
        except Exception as error:
            self.listener_error = error
            raise
