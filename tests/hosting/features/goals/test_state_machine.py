"""The state machine of a goal: every pair of state and event."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon.errors import IllegalTransition
from sophon_hosting.features.goals.rules.state_machine import (
    GOAL_EVENTS,
    GOAL_STATES,
    LIVE_STATES,
    TRANSITIONS,
    GoalEvent,
    GoalState,
    next_state,
)

# Columns in the order of GOAL_EVENTS; "-" is refused.
TABLE = """
            plan    replan    pause   resume  resume_planning complete  fail    cancel    archive
planning    active  planning  paused  -       -               -         failed  cancelled -
active      -       planning  paused  -       -               completed failed  cancelled -
paused      -       -         paused  active  planning        -         failed  cancelled -
completed   -       -         -       -       -               -         -       -         archived
failed      -       -         -       -       -               -         -       -         archived
cancelled   -       -         -       -       -               -         -       -         archived
archived    -       -         -       -       -               -         -       -         -
"""


def read_table() -> dict[tuple[str, str], str | None]:
    head, *rows = (line.split() for line in TABLE.strip().splitlines())
    assert tuple(head) == GOAL_EVENTS
    return {
        (row[0], event): None if cell == "-" else cell
        for row in rows
        for event, cell in zip(head, row[1:], strict=True)
    }


def test_every_pair_of_state_and_event_is_defined():
    assert dict(TRANSITIONS) == read_table()
    assert len(TRANSITIONS) == len(GOAL_STATES) * len(GOAL_EVENTS)


def test_a_refused_event_names_state_and_what_is_allowed():
    with pytest.raises(IllegalTransition, match="the goal 'g1' is completed and cannot become paused"):
        next_state("g1", "completed", "pause")


@given(st.lists(st.sampled_from(GOAL_EVENTS), max_size=30))
def test_whatever_happens_a_goal_that_is_over_never_lives_again(events: list[GoalEvent]):
    state: GoalState = "planning"
    has_ended = False
    for event in events:
        try:
            state = next_state("g", state, event)
        except IllegalTransition:
            assert TRANSITIONS[state, event] is None
            continue
        assert not (has_ended and state in LIVE_STATES)
        has_ended = has_ended or state not in LIVE_STATES
    assert state in GOAL_STATES


@given(st.sampled_from(LIVE_STATES))
def test_a_person_can_cancel_and_pause_a_goal_in_each_live_state(state: GoalState):
    assert next_state("g", state, "cancel") == "cancelled"
    assert next_state("g", state, "pause") == "paused"
