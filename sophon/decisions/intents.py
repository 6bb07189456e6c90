"""Intent rules: whether the words of a person ask for a call that has effects. Source: reference/wasp.md 4.14."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, Literal

from sophon.decisions.actions import matches_any, only_reads
from sophon.decisions.intent_phrases import FAMILIES, NEGATION, REFERENCE
from sophon.decisions.patterns import CONFIRMATION
from sophon.lazy_dataclass import dataclass
from sophon.lazy_pattern import lazy_pattern

IntentLabel = Literal["explicit", "context_allowed", "inferred_blocked", "non_side_effect"]

RECENT_TEXTS: Final = 4
"""Messages of the person in which a recipient may stand, and an intent that a later message only confirms."""

MIN_SUBJECT, MIN_BODY = 3, 10
"""Least characters of the subject and the body of a mail."""

RECIPIENTS: Final = ("to", "recipient", "recipients", "cc", "bcc")
BODIES: Final = ("body", "text", "content", "message")

_NAME_WORD = lazy_pattern(r"[^\W\d_]{3,}")
_ADDRESS = lazy_pattern(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")


@dataclass(frozen=True, slots=True)
class Intent:
    """Whether a call may run by the words of the person, how that was found, and why not."""

    allowed: bool
    label: IntentLabel
    reason: str = ""


ONLY_READS: Final = Intent(True, "non_side_effect")


def judge_intent(
    tool: str, arguments: Mapping[str, Any], texts: Sequence[str], recent_tools: Collection[str] = ()
) -> Intent:
    """Return whether a person asks for a call that has effects.

    `texts` is what the person wrote, the present message last; `recent_tools` are the tools that earlier turns have
    used with success.
    """
    if only_reads(tool):
        return ONLY_READS
    text = texts[-1] if texts else ""
    family = find_family(tool)
    if _asks_for(tool, family, text):
        label: IntentLabel = "explicit"
    elif _refers_to(tool, family, text, texts[-RECENT_TEXTS:-1], recent_tools):
        label = "context_allowed"
    else:
        return Intent(False, "inferred_blocked", f"no words of the person ask for {tool}")
    wrong = _find_wrong_mail(arguments, texts[-RECENT_TEXTS:]) if family == "mail" else ""
    return Intent(False, "inferred_blocked", wrong) if wrong else Intent(True, label)


def find_family(tool: str) -> str:
    """Return the family of a tool, "" for one of none."""
    return next((name for name, family in FAMILIES.items() if matches_any(tool, family.tools)), "")


def _asks_for(tool: str, family: str, text: str) -> bool:
    pattern = FAMILIES[family].phrases if family else _name_pattern(tool)
    negated = [NEGATION.search(text[: match.start()]) is not None for match in pattern.finditer(text)]
    return bool(negated) and not any(negated)


def _name_pattern(tool: str) -> re.Pattern[str]:
    """Return the pattern of the words of a tool's name, in any of their forms (`send`: sends, sending)."""
    words = [re.escape(word) for word in _NAME_WORD.findall(tool.replace("_", " "))]
    return re.compile(rf"\b(?:{'|'.join(words)})\w{{0,3}}\b" if words else r"(?!)", re.IGNORECASE)


def _refers_to(tool: str, family: str, text: str, earlier: Sequence[str], recent_tools: Collection[str]) -> bool:
    """Return whether a message refers to an earlier action of the tool, or confirms an earlier wish for it."""
    if REFERENCE.search(text) is not None and tool in recent_tools:
        return True
    return CONFIRMATION.match(text[:200]) is not None and any(_asks_for(tool, family, each) for each in earlier)


def _find_wrong_mail(arguments: Mapping[str, Any], texts: Sequence[str]) -> str:
    """Return what is wrong with a mail, "" if nothing: a recipient that nobody named, or too short a text."""
    seen = "\n".join(texts).casefold()
    for recipient in _list_recipients(arguments):
        if recipient.casefold() not in seen:
            return f"the person did not name the recipient {recipient!r}"
    subject = arguments.get("subject")
    if isinstance(subject, str) and len(subject.strip()) < MIN_SUBJECT:
        return f"the subject has less than {MIN_SUBJECT} characters"
    body = next((arguments[name] for name in BODIES if isinstance(arguments.get(name), str)), None)
    if body is not None and len(body.strip()) < MIN_BODY and body.strip().casefold() not in seen:
        return f"the text has less than {MIN_BODY} characters"
    return ""


def _list_recipients(arguments: Mapping[str, Any]) -> list[str]:
    found: list[str] = []
    for name in RECIPIENTS:
        value = arguments.get(name)
        for each in value if isinstance(value, list | tuple) else (value,):  # pyright: ignore[reportUnknownVariableType]
            if isinstance(each, str) and each.strip():
                found += _ADDRESS.findall(each) or [each.strip()]
    return found
