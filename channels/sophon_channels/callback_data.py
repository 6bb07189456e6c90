"""Callback data of the approval buttons: `ap:K7Q2M9XA:approve`, at most 64 bytes."""

import re
from typing import Literal, TypeAlias, cast

from sophon.lazy_dataclass import dataclass
from sophon_channels.contract import Button

ButtonVerdict: TypeAlias = Literal["approve", "reject"]
"""The verdicts that have a button."""

_DATA = re.compile(r"ap:([23456789A-HJ-NP-Z]{8}):(approve|reject)")


@dataclass(frozen=True, slots=True)
class ApprovalPress:
    """Parsed callback data: the code of an approval prompt, and the verdict that was pressed."""

    code: str
    verdict: ButtonVerdict


def build_approval_buttons(code: str, *, can_approve: bool = True, rejection: str = "Reject") -> tuple[Button, ...]:
    """Return the buttons of the approval prompt with that code: Approve, unless it is barred, and Reject, by the label
    `rejection`.
    """
    reject = Button(rejection, f"ap:{code}:reject", is_dangerous=True)
    return (Button("Approve", f"ap:{code}:approve"), reject) if can_approve else (reject,)


def parse_callback_data(data: str) -> ApprovalPress | None:
    """Parse callback data; None if it is not that of an approval button. Pure."""
    match = _DATA.fullmatch(data)
    return ApprovalPress(match[1], cast("ButtonVerdict", match[2])) if match else None
