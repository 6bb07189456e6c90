"""Parser for answers to an approval prompt: approve, reject with a reason, or edit with new arguments."""

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
    """The line is not a valid answer; `why` is shown to the user before the prompt is repeated."""

    why: str


@dataclass(frozen=True, slots=True)
class AskArguments:
    """The user typed `edit` alone; the next line must hold the new arguments."""


Answer: TypeAlias = Decision | AskAgain | AskArguments


def answer_of(line: str, *, editable: bool, by: str = "") -> Answer:
    """Parse one line of input.

    Only an approval word alone approves. A rejection word may be followed by a reason, `edit` by the new arguments as
    JSON. Any other line returns `AskAgain`: unrelated text never approves.
    """
    word, _, rest = line.strip().partition(" ")
    keyword, rest = word.casefold().rstrip(".,:;!"), rest.strip()
    if keyword in APPROVE and not rest:
        return Decision.approve(decided_by=by)
    if keyword in REJECT:
        return Decision.reject(rest, decided_by=by)
    if keyword in EDIT and not editable:
        return AskAgain(f"these arguments cannot be edited; answer {HOW}")
    if keyword in EDIT:
        return edited(rest, by=by) if rest else AskArguments()
    return AskAgain(f"not a valid answer; type {HOW_EDITABLE if editable else HOW}")


def edited(text: str, *, by: str = "") -> Decision | AskAgain:
    """Parse the complete new arguments from a JSON object."""
    try:
        arguments = json.loads(text)
    except ValueError as error:
        return AskAgain(f'the arguments are not valid JSON ({error}); write them as {{"name": "value"}}')
    if not isinstance(arguments, Mapping):
        return AskAgain('the arguments must be a JSON object; write them as {"name": "value"}')
    return Decision.edit(cast(Mapping[str, Any], arguments), decided_by=by)
