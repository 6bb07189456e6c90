"""Feedback on answers: values of the signals, and which emoji say what."""

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from sophon._python.lazy_dataclass import dataclass

THUMBS_UP: Final = 1.0
THUMBS_DOWN: Final = -1.0
MAX_CORRECTION_CHARACTERS: Final = 4000

_UP: Final = frozenset("👍❤🔥🥰👏🎉🤩🙏👌💯🏆😍🤗🫡🆒😇✅")
_DOWN: Final = frozenset("👎🤮💩😢🤬😡🤡🥱💔😭❌😠")
_MODIFIERS: Final = frozenset("\ufe0f\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff")
"""Variation selector and skin tones, which change nothing of what an emoji says."""


@dataclass(frozen=True, slots=True)
class Feedback:
    """What one person said about the answer of one run: a value from -1 (bad) to 1 (good), and a correction.

    `source` is where it came from: page, api, telegram, whatsapp.
    """

    run_id: str
    principal: str
    value: float
    at: datetime
    text: str = ""
    source: str = "api"
    session_id: str = ""


def value_of_emoji(emoji: str) -> float | None:
    """Return what a reaction says: 1 for praise, -1 for blame, None for any other one."""
    bare = "".join(each for each in emoji if each not in _MODIFIERS)
    if bare in _UP and bare:
        return THUMBS_UP
    return THUMBS_DOWN if bare in _DOWN and bare else None


def value_of_emojis(emojis: Iterable[str]) -> float | None:
    """Return what several reactions of one person say together: their mean; None if none of them says anything."""
    values = [value for each in emojis if (value := value_of_emoji(each)) is not None]
    return sum(values) / len(values) if values else None
