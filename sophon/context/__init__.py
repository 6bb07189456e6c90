"""The context of a turn: facts, working state, and what lives for one run of the chain."""

from sophon.context.context import Context, TurnRunner
from sophon.context.facts import Step, TurnFacts
from sophon.context.services import TurnServices
from sophon.context.state import Tally, TurnState

__all__ = ["Context", "Step", "Tally", "TurnFacts", "TurnRunner", "TurnServices", "TurnState"]
