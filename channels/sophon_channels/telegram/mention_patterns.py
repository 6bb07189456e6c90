"""Words of the settings that address the bot in a group, besides its username: its name as people write it."""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

_UNSPACED = "\u0e00-\u0e7f\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
"""Scripts that are written without spaces, or attach endings to a name: Thai, Chinese, Japanese, Korean."""
_LETTER = rf"[^\W{_UNSPACED}]"
"""A character that continues a word."""


def contains_mention(text: str, words: Sequence[str]) -> bool:
    """Return whether the text contains one of the words, as a whole word and in any case. Pure.

    A part of a username, of an address or of a path is no such word.
    """
    return bool(words) and _compile(tuple(words)).search(_fold(text)) is not None


@lru_cache(maxsize=64)
def _compile(words: tuple[str, ...]) -> re.Pattern[str]:
    alternatives = "|".join(re.escape(_fold(word)) for word in words)
    return re.compile(rf"(?<!{_LETTER})(?<![@/.-])(?:{alternatives})(?!{_LETTER})(?![@/.:-]+{_LETTER})")


def _fold(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
