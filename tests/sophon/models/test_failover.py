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
from sophon.models.failover import FINAL, TABLE, Event, State, event_of, verdict

S, E = State, Event

EXPECTED = {
    (S.SELECTING, E.CANDIDATE): S.CALLING,
    (S.SELECTING, E.NONE_LEFT): S.EXHAUSTED,
    (S.CALLING, E.SUCCESS): S.ANSWERED,
    (S.CALLING, E.FAILED): S.SELECTING,
    (S.CALLING, E.SPENT): S.SELECTING,
    (S.CALLING, E.FATAL): S.ABORTED,
}


@pytest.mark.parametrize(("state", "event"), list(itertools.product(State, Event)))
def test_every_pair_is_defined(state: State, event: Event) -> None:
    otherwise = state if state in FINAL else State.ABORTED
    assert TABLE[state, event] is EXPECTED.get((state, event), otherwise)


@given(st.lists(st.sampled_from(Event), min_size=60, max_size=60), st.integers(0, 8))
def test_every_sequence_of_events_ends_within_the_bound(events: list[Event], candidates: int) -> None:
    state, steps, left = State.SELECTING, 0, candidates
    for event in events:
        if state in FINAL:
            break
        if event is Event.CANDIDATE:
            event, left = (Event.CANDIDATE, left - 1) if left else (Event.NONE_LEFT, 0)
        state = TABLE[state, event]
        steps += 1
    assert state in FINAL
    assert steps <= 2 * candidates + 1


@pytest.mark.parametrize(
    ("error", "event"),
    [
        (RateLimited(""), E.FAILED),
        (Overloaded(""), E.FAILED),
        (ProviderUnavailable(""), E.FAILED),
        (ModelTimeout(""), E.FAILED),
        (AuthenticationFailed(""), E.FAILED),
        (ContextOverflow(""), E.FATAL),
        (BadRequest(""), E.FATAL),
        (ModelError(""), E.FATAL),
        (InputError(""), E.FATAL),
        (BudgetExceeded("DailyTokens", 1, 1), E.SPENT),
    ],
)
def test_what_an_error_means_for_the_other_candidates(error: SophonError, event: Event) -> None:
    assert event_of(error) is event
    assert event_of(error, heard=True) is E.FATAL


def test_the_last_error_of_a_model_leaves() -> None:
    first, second, spent = Overloaded("1"), RateLimited("2"), BudgetExceeded("DailyTokens", 1, 1)
    assert verdict([first, second, spent]) is second


def test_only_a_budget_that_stopped_everybody_leaves_as_such() -> None:
    spent = BudgetExceeded("DailyTokens", 1, 1)
    assert verdict([BudgetExceeded("MonthlyCost", 1, 1), spent]) is spent


def test_a_budget_that_stopped_a_visible_text_leaves_as_such() -> None:
    spent = BudgetExceeded("ActiveTime", 31, 30)
    assert verdict([Overloaded("1"), spent], heard=True) is spent


def test_nobody_at_all_is_no_provider() -> None:
    assert isinstance(verdict([]), NoProvider)
