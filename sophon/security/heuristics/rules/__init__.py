"""The heuristic rules, by what an attack wants."""

from typing import Final

from sophon.security.heuristics.rule import HeuristicRule
from sophon.security.heuristics.rules import (
    commands,
    credentials,
    exfiltration,
    obfuscation,
    prompt_injection,
    takeover,
)

RULES: Final[tuple[HeuristicRule, ...]] = (
    *prompt_injection.RULES,
    *obfuscation.RULES,
    *commands.RULES,
    *credentials.RULES,
    *exfiltration.RULES,
    *takeover.RULES,
)
"""All rules. Docs: docs/guards.md; cases that must and must not match: tests/sophon/security/heuristics/."""

__all__ = ["RULES"]
