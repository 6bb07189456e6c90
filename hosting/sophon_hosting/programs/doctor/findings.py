"""Findings of `sophon doctor`: id, grade, text, and the fix of a problem."""

from typing import Literal, TypeAlias

from sophon._python.lazy_dataclass import dataclass

FindingGrade: TypeAlias = Literal["ok", "warning", "failed"]

GRADE_COLUMNS = 8
"""Width of the grade column; grades are words, because a terminal may lack symbols, which is itself a finding."""


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    """Result of one check; `id` is stable, for programs; `fix` is one line, empty without a problem."""

    id: str
    text: str
    grade: FindingGrade = "ok"
    fix: str = ""

    def to_json(self) -> dict[str, str]:
        """Return the finding as a JSON object."""
        return {"id": self.id, "grade": self.grade, "text": self.text, "fix": self.fix}

    def lines(self) -> list[str]:
        """Return the lines for the terminal: grade, id and text, then the fix if there is one."""
        head = f"{self.grade:<{GRADE_COLUMNS}} {self.id:<14} {self.text}"
        return [head, f"{'':<{GRADE_COLUMNS}} {'':<14} {self.fix}"] if self.fix else [head]


def ok(check: str, text: str, fix: str = "") -> DoctorFinding:
    """Return the finding of a check that passed; `fix` is then a hint."""
    return DoctorFinding(check, text, "ok", fix)


def warning(check: str, text: str, fix: str) -> DoctorFinding:
    """Return the finding of something that works and that most people want otherwise."""
    return DoctorFinding(check, text, "warning", fix)


def failed(check: str, text: str, fix: str) -> DoctorFinding:
    """Return the finding of something that does not work."""
    return DoctorFinding(check, text, "failed", fix)
