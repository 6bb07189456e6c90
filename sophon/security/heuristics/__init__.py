"""Heuristics: rules that find attack shapes in the arguments of an action (tier 1 of Shield)."""

from sophon.security.heuristics.evaluation import evaluate_heuristics
from sophon.security.heuristics.rule import Finding, HeuristicRule

__all__ = ["Finding", "HeuristicRule", "evaluate_heuristics"]
