"""Heuristics: rules that find attack shapes in the arguments of an action (tier 1 of Shield)."""

from sophon.security.heuristics.rule import Finding, HeuristicRule
from sophon.security.heuristics.rule_evaluation import evaluate_heuristics

__all__ = ["Finding", "HeuristicRule", "evaluate_heuristics"]
