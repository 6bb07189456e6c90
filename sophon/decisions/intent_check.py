"""Intent check: whether the words of a person ask for a call that has effects. Source: WASP, policy guards."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, Literal

from sophon._python.lazy_dataclass import dataclass
from sophon._python.lazy_pattern import lazy_pattern
from sophon.decisions.actions_taken import only_reads
from sophon.decisions.intent_families import find_family
from sophon.decisions.languages.action_requests import ActionRequest, find_action_request, find_name, names_tool
from sophon.decisions.languages.request_patterns import CONFIRMATION, REFERENCE
from sophon.decisions.languages.text_preparation import fold_text

IntentLabel = Literal["explicit", "context_allowed", "inferred_blocked", "non_side_effect"]

RECENT_TEXTS: Final = 4
"""Messages of the person in which a recipient may stand, and an intent that a later message only confirms."""

MIN_SUBJECT, MIN_BODY = 3, 10
"""Least characters of the subject and the body of a mail."""

RECIPIENTS: Final = ("to", "recipient", "recipients", "cc", "bcc")
BODIES: Final = ("body", "text", "content", "message")

_NAME_WORD = lazy_pattern(r"[^\W\d_]{3,}")
_ADDRESS = lazy_pattern(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+")


@dataclass(frozen=True, slots=True)
class Intent:
    """Whether a call may run by the words of the person, how that was found, and why not.

    `in_doubt`: the words were not understood, so that they may ask for the call all the same.
    """

    allowed: bool
    label: IntentLabel
    reason: str = ""
    in_doubt: bool = False


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
    wish = _judge_action_request(tool, family, text)
    if wish == "asked":
        label: IntentLabel = "explicit"
    elif _refers_to(tool, family, text, texts[-RECENT_TEXTS:-1], recent_tools):
        label = "context_allowed"
    elif wish == "unclear":
        return Intent(False, "inferred_blocked", f"no rule understands whether the person asks for {tool}", True)
    else:
        return Intent(False, "inferred_blocked", f"no words of the person ask for {tool}")
    wrong = _find_wrong_mail(arguments, texts[-RECENT_TEXTS:]) if family == "mail" else ""
    return Intent(False, "inferred_blocked", wrong) if wrong else Intent(True, label)


def _judge_action_request(tool: str, family: str, text: str) -> ActionRequest:
    if not family:
        return find_name(text, _NAME_WORD.findall(tool.replace("_", " ")))
    found = find_action_request(text, family)
    # Who writes the name of the tool asks for it, unless an understood message asks about it.
    return "asked" if found == "unclear" and names_tool(text, tool) else found


def _refers_to(tool: str, family: str, text: str, earlier: Sequence[str], recent_tools: Collection[str]) -> bool:
    """Return whether a message refers to an earlier action of the tool, or confirms an earlier wish for it."""
    folded = fold_text(text[:200])
    if tool in recent_tools and REFERENCE.search(folded) is not None:
        return True
    return CONFIRMATION.match(folded) is not None and any(
        _judge_action_request(tool, family, each) == "asked" for each in earlier
    )


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
