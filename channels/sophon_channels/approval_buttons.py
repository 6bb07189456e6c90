"""Callback data of the approval buttons: `ap:K7Q2M9XA:approve`, `ap:K7Q2M9XA:2` for a choice, `ap:K7Q2M9XA:f2` for an
argument; at most 64 bytes.
"""

import re
from collections.abc import Sequence
from typing import Literal, TypeAlias, cast

from sophon._python.lazy_dataclass import dataclass
from sophon_channels.contract import Button

ButtonVerdict: TypeAlias = Literal["approve", "reject", "allow", "edit", "cancel"]
"""What a button does: approve, reject, approve this and later calls like it in the conversation, begin to edit the
arguments, end that.
"""

MAX_FIELDS = 99
"""Arguments of a call that may have a button."""

_DATA = re.compile(r"ap:([23456789A-HJ-NP-Z]{8}):(approve|reject|allow|edit|cancel|f?[1-9][0-9]?)")


@dataclass(frozen=True, slots=True)
class ApprovalPress:
    """Parsed callback data: the code of an approval prompt, and what was pressed: a verdict, or the number (from 1) of
    a choice (`answer`) or an argument (`field`); `choice` is 0 for a verdict.
    """

    code: str
    verdict: ButtonVerdict | Literal["answer", "field"]
    choice: int = 0


def build_approval_buttons(
    code: str,
    *,
    can_approve: bool = True,
    can_allow: bool = False,
    can_edit: bool = False,
    rejection: str = "Reject",
) -> tuple[Button, ...]:
    """Return the buttons of the approval prompt with that code: Approve, unless it is barred, and Reject, by the label
    `rejection`; then, of what can be approved, one that allows later calls too, and one that edits the arguments.
    """
    reject = Button(rejection, f"ap:{code}:reject", is_dangerous=True)
    if not can_approve:
        return (reject,)
    buttons = [Button("Approve", f"ap:{code}:approve"), reject]
    buttons += [Button("Allow in this chat", f"ap:{code}:allow", is_optional=True)] if can_allow else []
    buttons += [Button("Edit", f"ap:{code}:edit", is_optional=True)] if can_edit else []
    return tuple(buttons)


def build_version_buttons(code: str) -> tuple[Button, ...]:
    """Return the buttons below an edited call, whose own code this is."""
    return (
        Button("Run it so", f"ap:{code}:approve"),
        Button("Change more", f"ap:{code}:edit"),
        Button("Cancel", f"ap:{code}:cancel", is_dangerous=True),
    )


def build_field_buttons(code: str, names: Sequence[str]) -> tuple[Button, ...]:
    """Return the buttons of the question which argument is edited: one per argument, and Cancel."""
    fields = [Button(name, f"ap:{code}:f{number}") for number, name in enumerate(names[:MAX_FIELDS], start=1)]
    return (*fields, Button("Cancel", f"ap:{code}:cancel", is_dangerous=True))


def build_choice_buttons(code: str, labels: Sequence[str]) -> tuple[Button, ...]:
    """Return the buttons of a question: one per choice, and Cancel."""
    choices = [Button(label, f"ap:{code}:{number}") for number, label in enumerate(labels, start=1)]
    return (*choices, *build_approval_buttons(code, can_approve=False, rejection="Cancel"))


def parse_callback_data(data: str) -> ApprovalPress | None:
    """Parse callback data; None if it is not that of an approval button. Pure."""
    match = _DATA.fullmatch(data)
    if match is None:
        return None
    if match[2].startswith("f"):
        return ApprovalPress(match[1], "field", int(match[2][1:]))
    if match[2].isdigit():
        return ApprovalPress(match[1], "answer", int(match[2]))
    return ApprovalPress(match[1], cast("ButtonVerdict", match[2]))
