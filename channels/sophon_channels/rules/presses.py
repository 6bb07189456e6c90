"""What the buttons of a question give back: `ap:K7Q2M9XA:approve`, at most 64 bytes."""

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

from sophon_channels.contract import Button

Verdict: TypeAlias = Literal["approve", "reject"]

_DATA = re.compile(r"ap:([23456789A-HJ-NP-Z]{8}):(approve|reject)")


@dataclass(frozen=True, slots=True)
class Press:
    """The code of a question, and what was pressed."""

    code: str
    verdict: Verdict


def buttons_of(code: str) -> tuple[Button, ...]:
    """Of the question with that code."""
    return Button("Approve", f"ap:{code}:approve"), Button("Reject", f"ap:{code}:reject", danger=True)


def press_of(data: str) -> Press | None:
    """None for what no button of ours gives."""
    found = _DATA.fullmatch(data)
    return Press(found[1], cast("Verdict", found[2])) if found else None
