"""Text with its case folded, so that `Weiß` is `WEISS` and `İpek` is `ipek`, and the place of each of its letters."""

from sophon.lazy_pattern import lazy_pattern
from sophon.security.rewritten_text import RewrittenText, rewrite

_SPECIAL = lazy_pattern(
    # Every letter whose folded case is more than one, and in Turkish the `i` with and without a dot.
    "[\u00df\u0130\u0131\u0149\u01f0\u0390\u03b0\u0587\u1e96-\u1e9e\u1f50-\u1ffc\ufb00-\ufb17]|[iI]\u0307"
)


def fold(text: str) -> RewrittenText:
    """Return the text with its case folded."""
    if text.isascii():
        return RewrittenText(text.lower(), [], [], [0])
    return rewrite(text, _SPECIAL, _fold_special, str.casefold)


def _fold_special(letters: str) -> str:
    return "i" if letters in ("\u0130", "\u0131") or len(letters) > 1 else letters.casefold()
