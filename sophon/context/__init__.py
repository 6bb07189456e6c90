"""The context of a turn: facts, working state, and what lives for one run of the chain."""

from sophon.context.context import Context, TurnRunner
from sophon.context.state import Step, Tally, TurnFacts, TurnState
from sophon.context.turn_services import TurnServices

__all__ = ["Context", "Step", "Tally", "TurnFacts", "TurnRunner", "TurnServices", "TurnState"]
