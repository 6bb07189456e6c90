"""Option of a run that is a step of a goal: which step, and where its answer goes."""

from typing import TYPE_CHECKING, Final

from sophon.services import Services

if TYPE_CHECKING:
    from sophon_hosting.runs.answer_entries import OutboundBuilder

GOAL: Final = "goal"
"""Key, in `Run.options`, of the goal and the step that the run is of; missing for any other run."""


def leave_out_steps(services: Services, build: "OutboundBuilder") -> "OutboundBuilder":
    """Return the builder without entries for steps of goals: their results go to the goal, which reports once.

    Also with goals off, as a step may have been stored.
    """
    return lambda run, outcome: () if GOAL in run.options else build(run, outcome)
