"""Parser for answers to an approval prompt: approve, reject with a reason, or edit with new arguments."""

import json
from collections.abc import Mapping
from typing import Any, TypeAlias, cast

from sophon._python.lazy_dataclass import dataclass
from sophon.approvals import Decision, GrantScope
from sophon.builtin_tools.questions import choose_answer

APPROVE_WORDS = frozenset({"approve", "a", "y", "yes"})
REJECT_WORDS = frozenset({"reject", "r", "n", "no"})
EDIT_WORDS = frozenset({"edit", "e"})

ANSWER_HINT = "approve, reject [reason]"
REJECTION_HINT = "reject [reason], or wait for an operator"
EDITABLE_ANSWER_HINT = f"{ANSWER_HINT} or edit {{...}}"
QUESTION_HINT = "your answer, or /cancel"
CANCEL_ANSWER = "/cancel"
GRANT_SCOPES: Mapping[str, GrantScope] = {"session": "session", "always": "always"}


@dataclass(frozen=True, slots=True)
class InvalidAnswer:
    """The line is not a valid answer; `reason` is shown to the user before the prompt is repeated."""

    reason: str


@dataclass(frozen=True, slots=True)
class EditedArgumentsRequired:
    """The user typed `edit` alone; the next line must hold the new arguments."""


ApprovalAnswer: TypeAlias = Decision | InvalidAnswer | EditedArgumentsRequired


def parse_approval_answer(
    line: str, *, editable: bool, grantable: bool = False, decided_by: str = ""
) -> ApprovalAnswer:
    """Parse one line of input.

    Only an approval word alone approves, or with `session` or `always` behind it, later calls too. A rejection word may
    be followed by a reason, `edit` by the new arguments as JSON. Any other line returns `InvalidAnswer`: unrelated text
    never approves.
    """
    word, _, rest = line.strip().partition(" ")
    keyword, rest = word.casefold().rstrip(".,:;!"), rest.strip()
    if keyword in APPROVE_WORDS and not rest:
        return Decision.approve(decided_by=decided_by)
    if keyword in APPROVE_WORDS and (scope := GRANT_SCOPES.get(rest.casefold())) is not None:
        if grantable:
            return Decision.approve(decided_by=decided_by, grant=scope)
        return InvalidAnswer(f"it can be approved only by itself; answer {ANSWER_HINT}")
    if keyword in REJECT_WORDS:
        return Decision.reject(rest, decided_by=decided_by)
    if keyword in EDIT_WORDS and not editable:
        return InvalidAnswer(f"these arguments cannot be edited; answer {ANSWER_HINT}")
    if keyword in EDIT_WORDS:
        return parse_edited_arguments(rest, decided_by=decided_by) if rest else EditedArgumentsRequired()
    return InvalidAnswer(f"not a valid answer; type {EDITABLE_ANSWER_HINT if editable else ANSWER_HINT}")


def parse_question_answer(line: str, arguments: Mapping[str, Any], *, decided_by: str = "") -> ApprovalAnswer:
    """Parse one line of input as the answer to a question: the number of a choice, or any text but an empty one."""
    text = choose_answer(arguments, line)
    if text.casefold() == CANCEL_ANSWER:
        return Decision.reject(decided_by=decided_by)
    if not text:
        return InvalidAnswer(f"an answer has a text; type {QUESTION_HINT}")
    return Decision.answer(text, decided_by=decided_by)


def parse_edited_arguments(text: str, *, decided_by: str = "") -> Decision | InvalidAnswer:
    """Parse the complete new arguments from a JSON object."""
    try:
        arguments = json.loads(text)
    except ValueError as error:
        return InvalidAnswer(f'the arguments are not valid JSON ({error}); write them as {{"name": "value"}}')
    if not isinstance(arguments, Mapping):
        return InvalidAnswer('the arguments must be a JSON object; write them as {"name": "value"}')
    return Decision.edit(cast(Mapping[str, Any], arguments), decided_by=decided_by)


DECIDED_BY_TERMINAL = "terminal"
"""`decided_by` of approvals decided at this terminal, whose resolution is not shown again."""
