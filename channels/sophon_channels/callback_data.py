"""Callback data of the approval buttons: `ap:K7Q2M9XA:approve`, or `ap:K7Q2M9XA:2` for a choice; at most 64 bytes."""

import re
from collections.abc import Sequence
from typing import Literal, TypeAlias, cast

from sophon.lazy_dataclass import dataclass
from sophon_channels.contract import Button

ButtonVerdict: TypeAlias = Literal["approve", "reject"]
"""The verdicts that have a button."""

_DATA = re.compile(r"ap:([23456789A-HJ-NP-Z]{8}):(approve|reject|[1-9][0-9]?)")


@dataclass(frozen=True, slots=True)
class ApprovalPress:
    """Parsed callback data: the code of an approval prompt, and the verdict or the number (from 1) of the choice that
    was pressed; `choice` is 0 for a verdict.
    """

    code: str
    verdict: ButtonVerdict | Literal["answer"]
    choice: int = 0


def build_approval_buttons(code: str, *, can_approve: bool = True, rejection: str = "Reject") -> tuple[Button, ...]:
    """Return the buttons of the approval prompt with that code: Approve, unless it is barred, and Reject, by the label
    `rejection`.
    """
    reject = Button(rejection, f"ap:{code}:reject", is_dangerous=True)
    return (Button("Approve", f"ap:{code}:approve"), reject) if can_approve else (reject,)


def build_choice_buttons(code: str, labels: Sequence[str]) -> tuple[Button, ...]:
    """Return the buttons of a question: one per choice, and Cancel."""
    choices = [Button(label, f"ap:{code}:{number}") for number, label in enumerate(labels, start=1)]
    return (*choices, *build_approval_buttons(code, can_approve=False, rejection="Cancel"))


def parse_callback_data(data: str) -> ApprovalPress | None:
    """Parse callback data; None if it is not that of an approval button. Pure."""
    match = _DATA.fullmatch(data)
    if match is None:
        return None
    if match[2].isdigit():
        return ApprovalPress(match[1], "answer", int(match[2]))
    return ApprovalPress(match[1], cast("ButtonVerdict", match[2]))
