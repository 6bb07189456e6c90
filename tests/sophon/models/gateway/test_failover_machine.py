import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon.errors import (
    AuthenticationFailed,
    BadRequest,
    BudgetExceeded,
    ContextOverflow,
    InputError,
    ModelError,
    ModelTimeout,
    NoProvider,
    Overloaded,
    ProviderUnavailable,
    RateLimited,
    SophonError,
)
from sophon.models.gateway.failover_machine import (
    FINAL_STATES,
    TRANSITIONS,
    FailoverEvent,
    FailoverState,
    failover_event_from_error,
    select_final_error,
)

S, E = FailoverState, FailoverEvent

EXPECTED = {
    (S.SELECTING, E.CANDIDATE_AVAILABLE): S.CALLING,
    (S.SELECTING, E.NO_CANDIDATE): S.EXHAUSTED,
    (S.CALLING, E.SUCCESS): S.ANSWERED,
    (S.CALLING, E.CANDIDATE_FAILED): S.SELECTING,
    (S.CALLING, E.BUDGET_EXCEEDED): S.SELECTING,
    (S.CALLING, E.FATAL_ERROR): S.ABORTED,
}


@pytest.mark.parametrize(("state", "event"), list(itertools.product(FailoverState, FailoverEvent)))
def test_every_pair_is_defined(state: FailoverState, event: FailoverEvent) -> None:
    otherwise = state if state in FINAL_STATES else FailoverState.ABORTED
    assert TRANSITIONS[state, event] is EXPECTED.get((state, event), otherwise)


@given(st.lists(st.sampled_from(FailoverEvent), min_size=60, max_size=60), st.integers(0, 8))
def test_every_sequence_of_events_ends_within_the_bound(events: list[FailoverEvent], candidates: int) -> None:
    state, steps, left = FailoverState.SELECTING, 0, candidates
    for event in events:
        if state in FINAL_STATES:
            break
        if event is FailoverEvent.CANDIDATE_AVAILABLE:
            event, left = (FailoverEvent.CANDIDATE_AVAILABLE, left - 1) if left else (FailoverEvent.NO_CANDIDATE, 0)
        state = TRANSITIONS[state, event]
        steps += 1
    assert state in FINAL_STATES
    assert steps <= 2 * candidates + 1


@pytest.mark.parametrize(
    ("error", "event"),
    [
        (RateLimited(""), E.CANDIDATE_FAILED),
        (Overloaded(""), E.CANDIDATE_FAILED),
        (ProviderUnavailable(""), E.CANDIDATE_FAILED),
        (ModelTimeout(""), E.CANDIDATE_FAILED),
        (AuthenticationFailed(""), E.CANDIDATE_FAILED),
        (ContextOverflow(""), E.FATAL_ERROR),
        (BadRequest(""), E.FATAL_ERROR),
        (ModelError(""), E.FATAL_ERROR),
        (InputError(""), E.FATAL_ERROR),
        (BudgetExceeded("DailyTokens", 1, 1), E.BUDGET_EXCEEDED),
    ],
)
def test_what_an_error_means_for_the_other_candidates(error: SophonError, event: FailoverEvent) -> None:
    assert failover_event_from_error(error) is event
    assert failover_event_from_error(error, has_output=True) is E.FATAL_ERROR


def test_the_last_error_of_a_model_leaves() -> None:
    first, second, spent = Overloaded("1"), RateLimited("2"), BudgetExceeded("DailyTokens", 1, 1)
    assert select_final_error([first, second, spent]) is second


def test_only_a_budget_that_stopped_everybody_leaves_as_such() -> None:
    spent = BudgetExceeded("DailyTokens", 1, 1)
    assert select_final_error([BudgetExceeded("MonthlyCost", 1, 1), spent]) is spent


def test_a_budget_that_stopped_a_visible_text_leaves_as_such() -> None:
    spent = BudgetExceeded("ActiveTime", 31, 30)
    assert select_final_error([Overloaded("1"), spent], has_output=True) is spent


def test_nobody_at_all_is_no_provider() -> None:
    assert isinstance(select_final_error([]), NoProvider)
