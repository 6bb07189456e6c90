import itertools

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
    Overloaded,
    ProviderUnavailable,
    RateLimited,
    SophonError,
)
from sophon.models.gateway.retry_delay import backoff_seconds
from sophon.models.gateway.retry_states import (
    FINAL_STATES,
    TRANSITIONS,
    RetryEvent,
    RetryLimits,
    RetryPosition,
    RetryState,
    advance_retry,
    retry_event_from_error,
)
from tests.tables import table

S, E = RetryState, RetryEvent

EXPECTED = {
    (S.SELECTING_KEY, E.KEY_AVAILABLE): S.ATTEMPTING,
    (S.SELECTING_KEY, E.KEYS_COOLING): S.WAITING,
    (S.SELECTING_KEY, E.NO_KEY): S.GIVEN_UP,
    (S.ATTEMPTING, E.SUCCESS): S.ANSWERED,
    (S.ATTEMPTING, E.RATE_LIMITED): S.ROTATING_KEY,
    (S.ATTEMPTING, E.OVERLOADED): S.ROTATING_KEY,
    (S.ATTEMPTING, E.KEY_REFUSED): S.SELECTING_KEY,
    (S.ATTEMPTING, E.TRANSIENT_ERROR): S.WAITING,
    (S.ATTEMPTING, E.BUDGET_EXCEEDED): S.GIVEN_UP,
    (S.ATTEMPTING, E.FATAL_ERROR): S.ABORTED,
    (S.ROTATING_KEY, E.KEY_AVAILABLE): S.ATTEMPTING,
    (S.ROTATING_KEY, E.KEYS_COOLING): S.WAITING,
    (S.ROTATING_KEY, E.NO_KEY): S.GIVEN_UP,
    (S.WAITING, E.WAIT_FINISHED): S.ATTEMPTING,
    (S.ATTEMPTING, E.TIMED_OUT): S.WAITING,
    (S.WAITING, E.WAIT_TOO_LONG): S.GIVEN_UP,
    (S.WAITING, E.NO_KEY): S.GIVEN_UP,
}


@table(("state", "event"), list(itertools.product(RetryState, RetryEvent)))
def test_every_pair_is_defined(state: RetryState, event: RetryEvent) -> None:
    otherwise = state if state in FINAL_STATES else RetryState.ABORTED
    assert TRANSITIONS[state, event] is EXPECTED.get((state, event), otherwise)


@given(
    st.lists(st.sampled_from(RetryEvent), min_size=200, max_size=200),
    st.integers(0, 4),
    st.integers(0, 4),
    st.booleans(),
)
def test_every_sequence_of_events_ends_within_the_bound(
    events: list[RetryEvent], retries: int, keys: int, last: bool
) -> None:
    limits, position, steps = RetryLimits(retries, keys, last), RetryPosition(), 0
    for event in events:
        if position.state in FINAL_STATES:
            break
        position = advance_retry(position, event, limits)
        steps += 1
    assert position.state in FINAL_STATES
    assert steps <= 1 + (retries + 1) * (2 * max(keys, 1) + 1)


@given(st.lists(st.sampled_from(RetryEvent), max_size=60), st.integers(0, 3), st.integers(0, 3))
def test_no_sequence_of_events_makes_more_attempts_than_retries_and_keys_allow(
    events: list[RetryEvent], retries: int, keys: int
) -> None:
    position, attempts = RetryPosition(RetryState.ATTEMPTING), 1
    for event in events:
        after = advance_retry(position, event, RetryLimits(retries, keys))
        attempts += after.state is RetryState.ATTEMPTING and position.state is not RetryState.ATTEMPTING
        position = after
    assert attempts <= (retries + 1) * max(keys, 1)


def test_the_longest_possible_way_meets_the_attempts_allowed() -> None:
    position, attempts, limits = RetryPosition(RetryState.ATTEMPTING), 1, RetryLimits(3, 2)
    script = {S.ATTEMPTING: E.RATE_LIMITED, S.ROTATING_KEY: E.KEY_AVAILABLE, S.WAITING: E.WAIT_FINISHED}
    while position.state not in FINAL_STATES:
        position = advance_retry(position, script[position.state], limits)
        attempts += position.state is S.ATTEMPTING
    assert (position.state, attempts) == (S.GIVEN_UP, 8)


def test_a_change_of_key_is_no_retry() -> None:
    position = advance_retry(RetryPosition(S.ATTEMPTING, retries=1), E.RATE_LIMITED, RetryLimits(3, key_count=2))
    assert position == RetryPosition(S.ROTATING_KEY, retries=1, rotations=1)


def test_after_one_pass_over_the_keys_it_waits() -> None:
    for event in (E.RATE_LIMITED, E.OVERLOADED):
        after = advance_retry(RetryPosition(S.ATTEMPTING, 0, 1), event, RetryLimits(3, key_count=2))
        assert after == RetryPosition(S.WAITING, 1, 0)


def test_a_refused_single_key_gives_the_candidate_up() -> None:
    assert advance_retry(RetryPosition(S.ATTEMPTING), E.KEY_REFUSED, RetryLimits(3, key_count=1)).state is S.GIVEN_UP


def test_resting_keys_are_waited_for_only_when_nobody_else_is_left() -> None:
    assert advance_retry(RetryPosition(), E.KEYS_COOLING, RetryLimits(3, 1, is_last_candidate=True)).state is S.WAITING
    assert (
        advance_retry(RetryPosition(), E.KEYS_COOLING, RetryLimits(3, 1, is_last_candidate=False)).state is S.GIVEN_UP
    )


def test_retries_are_used_up() -> None:
    assert advance_retry(RetryPosition(S.ATTEMPTING, retries=3), E.TRANSIENT_ERROR, RetryLimits(3)).state is S.GIVEN_UP


def shown(error: ModelError) -> ModelError:
    error.visible = True
    return error


@table(
    ("error", "event"),
    [
        (RateLimited(""), E.RATE_LIMITED),
        (Overloaded(""), E.OVERLOADED),
        (ProviderUnavailable(""), E.TRANSIENT_ERROR),
        (ModelTimeout(""), E.TIMED_OUT),
        (AuthenticationFailed(""), E.KEY_REFUSED),
        (ContextOverflow(""), E.FATAL_ERROR),
        (BadRequest(""), E.FATAL_ERROR),
        (ModelError(""), E.FATAL_ERROR),
        (InputError(""), E.FATAL_ERROR),
        (BudgetExceeded("DailyTokens", 1, 1), E.BUDGET_EXCEEDED),
        (shown(Overloaded("")), E.FATAL_ERROR),
        (shown(RateLimited("")), E.FATAL_ERROR),
    ],
)
def test_what_the_end_of_an_attempt_means(error: SophonError, event: RetryEvent) -> None:
    assert retry_event_from_error(error) is event


@given(st.integers(1, 12), st.floats(0, 1, exclude_max=True))
def test_a_wait_doubles_from_a_quarter_second_within_a_fifth_and_under_the_cap(retry: int, chance: float) -> None:
    exact = min(8.0, 0.25 * 2 ** (retry - 1))
    wait = backoff_seconds(retry, chance)
    assert exact * 0.8 <= wait <= min(8.0, exact * 1.2)
