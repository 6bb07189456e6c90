"""State machine of a goal: every pair of state and event is defined, as a new state or as refused.

::

    planning <-> active -> completed
        \\         /
         v       v
          paused                  planning, active, paused -> failed | cancelled
    completed, failed, cancelled -> archived

Source: WASP, goal engine (planning, active, paused, completed, failed, archived); `cancelled` is that of a person.
"""

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias, get_args

from sophon.errors import IllegalTransition

GoalState: TypeAlias = Literal["planning", "active", "paused", "completed", "failed", "cancelled", "archived"]
GoalEvent: TypeAlias = Literal[
    "plan", "replan", "pause", "resume", "resume_planning", "complete", "fail", "cancel", "archive"
]

GOAL_STATES: Final[tuple[GoalState, ...]] = get_args(GoalState)
GOAL_EVENTS: Final[tuple[GoalEvent, ...]] = get_args(GoalEvent)

LIVE_STATES: Final[tuple[GoalState, ...]] = ("planning", "active", "paused")
"""States in which a goal may still do something."""

_ENDS: Final[Mapping[GoalEvent, GoalState]] = {"fail": "failed", "cancel": "cancelled"}
_OVER: Final[Mapping[GoalEvent, GoalState]] = {"archive": "archived"}

_ALLOWED: Final[Mapping[GoalState, Mapping[GoalEvent, GoalState]]] = {
    "planning": {"plan": "active", "replan": "planning", "pause": "paused", **_ENDS},
    "active": {"replan": "planning", "pause": "paused", "complete": "completed", **_ENDS},
    "paused": {"pause": "paused", "resume": "active", "resume_planning": "planning", **_ENDS},
    "completed": _OVER,
    "failed": _OVER,
    "cancelled": _OVER,
    "archived": {},
}

TRANSITIONS: Final[Mapping[tuple[GoalState, GoalEvent], GoalState | None]] = {
    (state, event): _ALLOWED[state].get(event) for state in GOAL_STATES for event in GOAL_EVENTS
}
"""The new state for each pair; None where the event is refused."""

_WANTED: Final[Mapping[GoalEvent, str]] = {
    "plan": "active",
    "replan": "planning",
    "pause": "paused",
    "resume": "active",
    "resume_planning": "planning",
    "complete": "completed",
    "fail": "failed",
    "cancel": "cancelled",
    "archive": "archived",
}


def next_state(goal_id: str, state: GoalState, event: GoalEvent) -> GoalState:
    """Return the state after an event. Raises IllegalTransition for a pair that is refused."""
    found = TRANSITIONS[state, event]
    if found is None:
        allowed = dict.fromkeys(each for each in _ALLOWED[state].values() if each != state)
        raise IllegalTransition("goal", goal_id, state, _WANTED[event], list(allowed))
    return found
