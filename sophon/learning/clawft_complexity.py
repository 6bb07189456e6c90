"""Complexity of a prompt by clawft's first formula; the default one is in `message_complexity`."""

from typing import Final

_REASONING: Final = ("analyze", "design", "architect", "explain", "compare")
_STEPS: Final = ("first", "then", "finally", "step 1")


def complexity(text: str) -> float:
    """Return 0 to 1, in fact at most 0.8. Source: clawft, IntelligentRouter, the first formula.

    Words per 1,000, at most 0.3; 0.2 for a code fence, 0.1 for a word of reasoning, 0.2 for a word of several steps. As
    published, a word matches anywhere: "then" in "strengthen".
    """
    lowered = text.lower()
    score = min(len(text.split()) / 1000, 0.3)
    if "```" in text:
        score += 0.2
    if any(word in lowered for word in _REASONING):
        score += 0.1
    if any(word in lowered for word in _STEPS):
        score += 0.2
    return min(score, 1.0)
