"""Checks of a reply against its request: what a corrective round is asked for. Source: WASP, policy guards.

All of them are cautious: what a rule cannot see is no fault.
"""

import re
from collections.abc import Sequence
from typing import Final, Literal

from sophon._python.lazy_dataclass import dataclass
from sophon._python.lazy_pattern import lazy_pattern
from sophon.decisions.actions_taken import Action

Check = Literal["grounding_fail", "incomplete", "drift", "planning_mode_violation", "incomplete_multipart"]

CHECKS: Final[tuple[Check, ...]] = (
    *("planning_mode_violation", "incomplete", "incomplete_multipart", "grounding_fail", "drift"),
)
"""In the order in which they are made; the first fault is reported."""

DRIFT_WORDS, DRIFT_CHARACTERS = 5, 300
"""A request of so many words and a reply of so many characters that share no word have nothing in common."""
VERDICT_WINDOW: Final = 200
"""Characters around the subject of a question in which a result must have the verdict of the reply."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a reply, in a sentence for the model."""

    check: Check
    reason: str


MAX_END: Final = 1000
"""Characters at the end of a reply in which a promise, or a sentence that is cut, is looked for."""

_WORD = lazy_pattern(r"[^\W\d_]{4,}")
_URL = lazy_pattern(r"https?://[^\s<>\"'`)\]}]+")
_PROMISE = lazy_pattern(
    r"\b(?:I(?:['’]ll| will| am going to|['’]m going to) (?:now )?(?:check|look|search|fetch|start|do|get|find|prepare"
    r"|create|write)"
    r"|let me (?:check|look|search|fetch|find|see|start)|one moment|please wait|give me a (?:moment|second)"
    r"|(?:voy a|déjame) (?:buscar|revisar|comprobar|ver|crear|preparar)|un momento)\b[^.!?\n]*[.!?:…]*\s*\Z",
    re.IGNORECASE,
)
_CUT = lazy_pattern(r"(?:[,;:(\[{–-]|\b(?:and|or|but|the|a|of|to|y|o|pero|el|la|de)|\.\.\.|…)\s*\Z", re.IGNORECASE)
_PLAN_ONLY = lazy_pattern(
    r"\b(?:(?:only|just) (?:a |the )?(?:make |write |give me |show me )?(?:a |the )?plan|plan only"
    r"|(?:don['’]?t|do not) (?:execute|run|do|start|send|change)\b[^.!?]{0,40}\b(?:yet|only|plan|anything)"
    r"|without (?:executing|running|doing) (?:it|anything)|solo (?:el |un )?plan|no (?:lo )?ejecutes)\b",
    re.IGNORECASE,
)
_TRANSLATION = lazy_pattern(r"\b(?:translat\w*|traduc\w*|traduz\w*)\b", re.IGNORECASE)
_NUMBERED = lazy_pattern(r"(?:^|\n|\s)\(?([1-9])[.)]\s+([^\n]+?)(?=(?:\s\(?[1-9][.)]\s)|\n|\Z)")
_QUESTION = lazy_pattern(r"[^.!?\n]{8,200}\?")
_VERDICTS: Final = (
    ("up", "down", "online", "offline"),
    ("open", "closed", "abierto", "cerrado"),
    ("available", "unavailable", "in stock", "sold out", "out of stock", "disponible", "agotado"),
    ("passed", "failed", "passing", "failing"),
)


def find_fault(request: str, reply: str, actions: Sequence[Action], results: Sequence[str]) -> Fault | None:
    """Return the first fault of a reply, or None. `results` are what the tools of the turn returned."""
    for check in CHECKS:
        if reason := _REASONS[check](request, reply, actions, results):
            return Fault(check, reason)
    return None


def _planning_violation(request: str, reply: str, actions: Sequence[Action], results: Sequence[str]) -> str:
    done = [each.tool for each in actions if each.has_effects and each.outcome == "done"]
    if done and _PLAN_ONLY.search(request) is not None:
        return f"only a plan was asked for, and {', '.join(dict.fromkeys(done))} ran; say so, and do nothing more"
    return ""


def _incomplete(request: str, reply: str, actions: Sequence[Action], results: Sequence[str]) -> str:
    text = reply.strip()
    if text.count("```") % 2:
        return "the reply ends within a block of code"
    if _PROMISE.search(text[-MAX_END:]) is not None:
        return "the reply announces work instead of doing it; do it now, or say that it cannot be done"
    if _CUT.search(text[-MAX_END:]) is not None and not text.endswith("```"):
        return "the reply ends in the middle of a sentence"
    return ""


def _incomplete_multipart(request: str, reply: str, actions: Sequence[Action], results: Sequence[str]) -> str:
    missing = [part for part in list_parts(request) if not _shares_word(part, reply)]
    return f"the reply leaves out: {'; '.join(part[:80] for part in missing)}" if missing else ""


def _ungrounded(request: str, reply: str, actions: Sequence[Action], results: Sequence[str]) -> str:
    if not results:
        return ""
    known = "\n".join([request, *results, *(str(each.arguments) for each in actions)])
    urls = [url for url in map(_strip_url, _URL.findall(reply)) if url not in known]
    if urls:
        return f"no result of this turn has the address {urls[0]}"
    verdict = _find_ungrounded_verdict(request, reply, "\n".join(results))
    return f"no result says {verdict!r} near what was asked about" if verdict else ""


def _drift(request: str, reply: str, actions: Sequence[Action], results: Sequence[str]) -> str:
    words = _words(request)
    if _TRANSLATION.search(request) is not None:
        return ""
    if len(words) < DRIFT_WORDS or len(reply) < DRIFT_CHARACTERS or _shares_any(words, reply):
        return ""
    return "the reply has nothing in common with the message"


_REASONS: Final = {
    "planning_mode_violation": _planning_violation,
    "incomplete": _incomplete,
    "incomplete_multipart": _incomplete_multipart,
    "grounding_fail": _ungrounded,
    "drift": _drift,
}


def list_parts(request: str) -> list[str]:
    """Return the parts of a request: numbered ones from 1, or else its questions; fewer than two are none."""
    numbered = _NUMBERED.findall(request)
    if len(numbered) >= 2 and [number for number, _ in numbered] == [str(n) for n in range(1, len(numbered) + 1)]:
        return [part.strip() for _, part in numbered]
    questions = [each.strip() for each in _QUESTION.findall(request)]
    return questions if len(questions) >= 2 else []


def _find_ungrounded_verdict(request: str, reply: str, results: str) -> str:
    """Return a verdict word of a reply that stands nowhere near the subject of the question in the results."""
    subjects = [word for word in _words(request) if word in results.casefold()]
    if not subjects:
        return ""
    lowered, said = results.casefold(), reply.casefold()
    for verdicts in _VERDICTS:
        asked = [word for word in verdicts if _has_word(word, request.casefold())]
        claimed = [word for word in verdicts if _has_word(word, said)]
        near = "\n".join(_around(lowered, subject) for subject in subjects)
        if asked and claimed and any(_has_word(word, near) for word in verdicts):
            wrong = [word for word in claimed if not _has_word(word, near)]
            if len(wrong) == len(claimed):
                return wrong[0]
    return ""


def _around(text: str, subject: str) -> str:
    windows: list[str] = []
    for match in list(re.finditer(re.escape(subject), text))[:20]:
        windows.append(text[max(0, match.start() - VERDICT_WINDOW) : match.end() + VERDICT_WINDOW])
    return "\n".join(windows)


def _has_word(word: str, text: str) -> bool:
    return re.search(rf"\b{re.escape(word)}\b", text) is not None


def _strip_url(url: str) -> str:
    return url.rstrip(".,;:!?*_")


def _words(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text[:4000])}


def _shares_word(part: str, reply: str) -> bool:
    words = _words(part)
    return not words or _shares_any(words, reply)


def _shares_any(words: set[str], reply: str) -> bool:
    """Return whether a text has one of the words, or one that begins alike (`schedule`: scheduling)."""
    stems = {word[: max(4, len(word) - 3)] for word in words}
    return any(stem in reply.casefold() for stem in stems)
