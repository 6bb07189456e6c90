"""Risk levels of tool calls."""

from enum import IntEnum
from typing import Final, Literal, TypeAlias, get_args

RiskLabel: TypeAlias = Literal["none", "low", "medium", "high", "critical"]


class Risk(IntEnum):
    """Risk level of a tool; approval is required from HIGH on. Source: Sophon's guide, approvals."""

    NONE = 0
    LOW = 1
    MEDIUM = 2
    HIGH = 3
    CRITICAL = 4

    @property
    def label(self) -> RiskLabel:
        """The name in lower case, as in the wire format."""
        return _LABELS[self]

    @classmethod
    def parse(cls, text: str) -> "Risk":
        """Parse a label, ignoring case; raises ValueError with the five names."""
        risk = cls.__members__.get(text.strip().upper())
        if risk is None:
            raise ValueError(f"{text!r} is not a risk; choose from {', '.join(r.label for r in cls)}")
        return risk


_LABELS: Final[tuple[RiskLabel, ...]] = get_args(RiskLabel)
"""By value."""
