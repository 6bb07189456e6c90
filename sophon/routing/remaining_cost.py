"""Typed key of what a person's limits leave, which Budget sets for routing."""

from sophon.extensions import Key

REMAINING_COST: Key[float] = Key("routing.remaining_cost")
"""USD that the person's limits leave for this turn; set by Budget if there is a limit."""
