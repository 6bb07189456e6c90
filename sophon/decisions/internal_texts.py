"""Texts that the program itself wrote, on which no rule acts."""

from typing import Final

from sophon.decisions.patterns import INTERNAL_PREFIXES


def is_internal(text: str) -> bool:
    """Return whether the program itself wrote a text; no rule acts on it."""
    return text.lstrip().startswith(INTERNAL_PREFIXES)


GOAL_REPORT: Final = "[AUTO-DETECTED: goal"
"""How the message begins that asks for the report of a goal."""
