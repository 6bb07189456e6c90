"""Who hears a streamed text: the audience outside, and the ear at the model's mouth."""

from collections.abc import Callable

from sophon.models.model import OnText


class Audience:
    """The caller's own listener at the outer end: once it has heard anything, an attempt is never repeated."""

    __slots__ = ("_on_text", "heard")

    def __init__(self, on_text: OnText) -> None:
        self._on_text = on_text
        self.heard = False

    def __call__(self, text: str) -> None:
        if text:
            self.heard = True
            self._on_text(text)


class Ear:
    """Listens to one attempt at the inner end: what the model said, whether or not a layer lets it out.

    A listener that has a method `restart` is told that an attempt begins: what it holds back is of an earlier one.
    `failure` is what the listener raised: no fault of the provider.
    """

    __slots__ = ("_check", "_on_text", "failure", "pieces")

    def __init__(self, on_text: OnText, check: Callable[[], None] | None) -> None:
        self._on_text = on_text
        self._check = check
        self.pieces: list[str] = []
        self.failure: Exception | None = None
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
            self.failure = error
            raise
