"""Classification of an action by the texts in its arguments, for classifiers that know nothing but text."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import anyio.to_thread

from sophon.security.heuristics import Finding
from sophon.security.heuristics.payload_texts import find_texts
from sophon.security.heuristics.rule import Verdict
from sophon.security.shield.classifier_contract import RULE, THRESHOLD, Classifier

SKIPPED: Final = frozenset(
    {"write_file", "delete_file", "move_file", "copy_file", "send_email", "send_message", "http_request"}
)
"""Action types whose texts are meant for people and programs, and may say anything; policy and heuristics judge them.

Source: OpenParallax, Shield.
"""

MIN_CHARACTERS: Final = 12
"""Shortest text that is classified: a shorter one instructs nobody."""

MAX_CHARACTERS: Final = 100_000
"""Characters of an action that are classified; a longer one goes to a person, because the rest is not read."""

_IN_THREAD_FROM: Final = 2_000
"""Characters from which a thread classifies, so that nothing else waits."""

TOO_LONG: Final = Finding("escalate", 0.85, ("classifier.oversized_arguments",))


def classify_texts(rate: Callable[[str], float], verdict: Verdict, *, is_slow: bool = False) -> Classifier:
    """Return a classifier of actions that finds `verdict` if the text with the highest probability reaches THRESHOLD.

    `rate` returns the probability of an attack in a text, from 0 to 1. It runs in a thread for long texts, and with
    `is_slow` for all.
    """

    async def classify(action_type: str, payload: Mapping[str, Any], /) -> Finding:
        if action_type in SKIPPED:
            return Finding()
        texts = [text for text in find_texts(payload) if len(text) >= MIN_CHARACTERS]
        length = sum(map(len, texts))
        if length > MAX_CHARACTERS:
            return TOO_LONG
        if is_slow or length >= _IN_THREAD_FROM:
            highest = await anyio.to_thread.run_sync(_find_highest, rate, texts, abandon_on_cancel=True)
        else:
            highest = _find_highest(rate, texts)
        return Finding(verdict, highest, (RULE,)) if highest >= THRESHOLD else Finding()

    return classify


def _find_highest(rate: Callable[[str], float], texts: list[str]) -> float:
    return max(map(rate, texts), default=0.0)
