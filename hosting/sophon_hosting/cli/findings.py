"""What `sophon doctor` finds: facts with an id each, and the fix where something is wrong."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

Grade: TypeAlias = Literal["ok", "warning", "failed"]

WIDTH = 8
"""Columns of the grade; words and not signs, since a terminal that lacks the signs is one of the findings."""


@dataclass(frozen=True, slots=True)
class Finding:
    """`id` is stable, for programs; `fix` is one line, empty where nothing is wrong."""

    id: str
    text: str
    grade: Grade = "ok"
    fix: str = ""

    def to_json(self) -> dict[str, str]:
        """As plain data, ready for JSON."""
        return {"id": self.id, "grade": self.grade, "text": self.text, "fix": self.fix}

    def lines(self) -> list[str]:
        """For a person: the fact, and below it the fix."""
        head = f"{self.grade:<{WIDTH}} {self.id:<14} {self.text}"
        return [head, f"{'':<{WIDTH}} {'':<14} {self.fix}"] if self.fix else [head]
