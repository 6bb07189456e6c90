"""Redacted texts: the redactor of a turn, which knows what it has just returned."""

from sophon.context import Context
from sophon.security import KNOWN_SECRETS, redact

MAX_TEXTS = 32
"""Texts that are remembered: the results of a round, which the audit log and the next model call read."""


class RedactedTexts:
    """Redactor that remembers the texts that it has returned, so that nobody searches them for secrets again.

    It keeps at most `MAX_TEXTS` texts, for as long as the turn. A new known secret makes it forget them.
    """

    __slots__ = ("_known", "_texts")

    def __init__(self) -> None:
        self._known: object = None
        self._texts: dict[str, None] = {}

    def __call__(self, text: str) -> str:
        """Return the text with its secrets replaced."""
        known = KNOWN_SECRETS.snapshot()  # before: a secret that is added meanwhile counts
        shown = redact(text)
        if known is not self._known:
            self._known, self._texts = known, {}
        if len(self._texts) >= MAX_TEXTS:
            del self._texts[next(iter(self._texts))]
        self._texts[shown] = None
        return shown

    def has_returned(self, text: str) -> bool:
        """Return whether the text is one that was returned, and no secret has become known since."""
        return text in self._texts and self._known is KNOWN_SECRETS.snapshot()


def is_redacted(ctx: Context, text: str) -> bool:
    """Return whether the redactor of the turn has returned exactly this text a moment ago."""
    return isinstance(ctx.redactor, RedactedTexts) and ctx.redactor.has_returned(text)
