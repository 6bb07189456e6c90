"""What a line that was typed at a question means: an answer, or nothing that counts as one."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from sophon.approvals import Decision

APPROVE = frozenset({"approve", "a", "y", "yes"})
REJECT = frozenset({"reject", "r", "n", "no"})
EDIT = frozenset({"edit", "e"})

HOW = "approve, reject [reason]"
HOW_EDITABLE = f"{HOW} or edit {{...}}"


@dataclass(frozen=True, slots=True)
class AskAgain:
    """The line was no answer; `why` tells the person."""

    why: str


@dataclass(frozen=True, slots=True)
class AskArguments:
    """The person wants to edit; the next line holds the arguments."""


Answer: TypeAlias = Decision | AskAgain | AskArguments


def answer_of(line: str, *, editable: bool, by: str = "") -> Answer:
    """Read a line. Only a word of approval that stands alone approves; a word of rejection may have a reason behind it,
    `edit` the new arguments as JSON. Anything else is asked again: quiet text never counts as an approval.
    """
    word, _, rest = line.strip().partition(" ")
    said, rest = word.casefold().rstrip(".,:;!"), rest.strip()
    if said in APPROVE and not rest:
        return Decision.approve(decided_by=by)
    if said in REJECT:
        return Decision.reject(rest, decided_by=by)
    if said in EDIT and not editable:
        return AskAgain(f"this cannot be edited; answer {HOW}")
    if said in EDIT:
        return edited(rest, by=by) if rest else AskArguments()
    return AskAgain(f"that is no answer; type {HOW_EDITABLE if editable else HOW}")


def edited(text: str, *, by: str = "") -> Decision | AskAgain:
    """New arguments, all of them, from a JSON object."""
    try:
        arguments = json.loads(text)
    except ValueError as error:
        return AskAgain(f'these arguments are no JSON ({error}); write them as {{"name": "value"}}')
    if not isinstance(arguments, Mapping):
        return AskAgain('arguments are a JSON object; write them as {"name": "value"}')
    return Decision.edit(cast(Mapping[str, Any], arguments), decided_by=by)
