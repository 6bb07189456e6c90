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
    Overloaded,
    ProviderUnavailable,
    RateLimited,
    SophonError,
)
from sophon.models.backoff import Backoff, jittered
from sophon.models.options import GatewayOptions
from sophon.models.retries import FINAL, TABLE, Event, Limits, Position, State, advance, event_of
from sophon.testing.clock import VirtualClock

S, E = State, Event

EXPECTED = {
    (S.CHOOSING, E.KEY): S.ATTEMPTING,
    (S.CHOOSING, E.COOLING): S.WAITING,
    (S.CHOOSING, E.NO_KEY): S.GIVEN_UP,
    (S.ATTEMPTING, E.SUCCESS): S.ANSWERED,
    (S.ATTEMPTING, E.LIMITED): S.ROTATING,
    (S.ATTEMPTING, E.REFUSED): S.CHOOSING,
    (S.ATTEMPTING, E.TRANSIENT): S.WAITING,
    (S.ATTEMPTING, E.SPENT): S.GIVEN_UP,
    (S.ATTEMPTING, E.FATAL): S.ABORTED,
    (S.ROTATING, E.KEY): S.ATTEMPTING,
    (S.ROTATING, E.COOLING): S.WAITING,
    (S.ROTATING, E.NO_KEY): S.GIVEN_UP,
    (S.WAITING, E.WAITED): S.ATTEMPTING,
    (S.WAITING, E.TOO_LONG): S.GIVEN_UP,
    (S.WAITING, E.NO_KEY): S.GIVEN_UP,
}


@pytest.mark.parametrize(("state", "event"), list(itertools.product(State, Event)))
def test_every_pair_is_defined(state: State, event: Event) -> None:
    otherwise = state if state in FINAL else State.ABORTED
    assert TABLE[state, event] is EXPECTED.get((state, event), otherwise)


@given(
    st.lists(st.sampled_from(Event), min_size=200, max_size=200), st.integers(0, 4), st.integers(0, 4), st.booleans()
)
def test_every_sequence_of_events_ends_within_the_bound(
    events: list[Event], retries: int, keys: int, last: bool
) -> None:
    limits, position, steps = Limits(retries, keys, last), Position(), 0
    for event in events:
        if position.state in FINAL:
            break
        position = advance(position, event, limits)
        steps += 1
    assert position.state in FINAL
    assert steps <= limits.transitions


@given(st.lists(st.sampled_from(Event), max_size=60), st.integers(0, 3), st.integers(0, 3))
def test_no_sequence_of_events_makes_more_attempts_than_retries_and_keys_allow(
    events: list[Event], retries: int, keys: int
) -> None:
    position, attempts = Position(State.ATTEMPTING), 1
    for event in events:
        after = advance(position, event, Limits(retries, keys))
        attempts += after.state is State.ATTEMPTING and position.state is not State.ATTEMPTING
        position = after
    assert attempts <= (retries + 1) * max(keys, 1)


def test_the_longest_possible_way_meets_the_attempts_allowed() -> None:
    position, attempts, limits = Position(State.ATTEMPTING), 1, Limits(3, 2)
    script = {S.ATTEMPTING: E.LIMITED, S.ROTATING: E.KEY, S.WAITING: E.WAITED}
    while position.state not in FINAL:
        position = advance(position, script[position.state], limits)
        attempts += position.state is S.ATTEMPTING
    assert (position.state, attempts) == (S.GIVEN_UP, 8)


def test_a_change_of_key_is_no_retry() -> None:
    position = advance(Position(S.ATTEMPTING, retries=1), E.LIMITED, Limits(3, keys=2))
    assert position == Position(S.ROTATING, retries=1, rotations=1)


def test_after_one_pass_over_the_keys_it_waits() -> None:
    assert advance(Position(S.ATTEMPTING, 0, 1), E.LIMITED, Limits(3, keys=2)) == Position(S.WAITING, 1, 0)


def test_a_refused_single_key_gives_the_candidate_up() -> None:
    assert advance(Position(S.ATTEMPTING), E.REFUSED, Limits(3, keys=1)).state is S.GIVEN_UP


def test_resting_keys_are_waited_for_only_when_nobody_else_is_left() -> None:
    assert advance(Position(), E.COOLING, Limits(3, 1, last=True)).state is S.WAITING
    assert advance(Position(), E.COOLING, Limits(3, 1, last=False)).state is S.GIVEN_UP


def test_retries_are_used_up() -> None:
    assert advance(Position(S.ATTEMPTING, retries=3), E.TRANSIENT, Limits(3)).state is S.GIVEN_UP


def shown(error: ModelError) -> ModelError:
    error.visible = True
    return error


@pytest.mark.parametrize(
    ("error", "event"),
    [
        (RateLimited(""), E.LIMITED),
        (Overloaded(""), E.TRANSIENT),
        (ProviderUnavailable(""), E.TRANSIENT),
        (ModelTimeout(""), E.TRANSIENT),
        (AuthenticationFailed(""), E.REFUSED),
        (ContextOverflow(""), E.FATAL),
        (BadRequest(""), E.FATAL),
        (ModelError(""), E.FATAL),
        (InputError(""), E.FATAL),
        (BudgetExceeded("DailyTokens", 1, 1), E.SPENT),
        (shown(Overloaded("")), E.FATAL),
        (shown(RateLimited("")), E.FATAL),
    ],
)
def test_what_the_end_of_an_attempt_means(error: SophonError, event: Event) -> None:
    assert event_of(error) is event


@given(st.integers(1, 12), st.floats(0, 1, exclude_max=True))
def test_a_wait_doubles_from_a_quarter_second_within_a_fifth_and_under_the_cap(retry: int, chance: float) -> None:
    exact = min(8.0, 0.25 * 2 ** (retry - 1))
    wait = jittered(exact, GatewayOptions(), chance)
    assert exact * 0.8 <= wait <= min(8.0, exact * 1.2)


def test_the_back_off_is_the_same_for_the_same_clock() -> None:
    waits = [
        [Backoff(clock, GatewayOptions()).seconds(n) for n in (1, 2, 3, 9)]
        for clock in (VirtualClock(), VirtualClock())
    ]
    assert waits[0] == waits[1]
    for wait, exact in zip(waits[0], (0.25, 0.5, 1.0, 8.0), strict=True):
        assert wait == pytest.approx(exact, rel=0.2)
