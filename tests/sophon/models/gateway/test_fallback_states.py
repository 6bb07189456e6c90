import asyncio
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon import ModelRequest, Services
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
from sophon.events import AgentStatus, ModelFallback
from sophon.models.gateway.fallback_states import (
    FINAL_STATES,
    TRANSITIONS,
    FallbackEvent,
    FallbackLimits,
    FallbackPosition,
    FallbackState,
    InvalidTransition,
    advance_fallback,
    fallback_event_from_error,
    select_final_error,
)
from sophon.models.gateway.provider import Provider
from sophon.testing import EventRecorder, FunctionModel, VirtualClock
from sophon_middlewares.chains import twelve
from tests.tables import table

S, E = FallbackState, FallbackEvent

PUBLISHED = {
    (S.IDLE, E.START): S.SELECTING,
    (S.SELECTING, E.PROVIDER_SUCCESS): S.ATTEMPTING,
    (S.SELECTING, E.FATAL_ERROR): S.EXHAUSTED,
    (S.ATTEMPTING, E.PROVIDER_SUCCESS): S.SUCCEEDED,
    (S.ATTEMPTING, E.RETRYABLE_ERROR): S.RETRYING,
    (S.ATTEMPTING, E.FATAL_ERROR): S.ABORTED,
    (S.ATTEMPTING, E.USER_ABORT): S.ABORTED,
    (S.ATTEMPTING, E.TIMEOUT): S.RETRYING,
    (S.RETRYING, E.PROVIDER_SUCCESS): S.ATTEMPTING,
    (S.RETRYING, E.RETRYABLE_ERROR): S.ATTEMPTING,
    (S.RETRYING, E.FATAL_ERROR): S.ABORTED,
    (S.RETRYING, E.USER_ABORT): S.ABORTED,
    (S.RETRYING, E.TIMEOUT): S.SELECTING,
}


@table(("state", "event"), list(itertools.product(FallbackState, FallbackEvent)))
def test_every_pair_is_as_published(state: FallbackState, event: FallbackEvent) -> None:
    position, limits = FallbackPosition(state), FallbackLimits(2)
    if state in FINAL_STATES:
        assert advance_fallback(position, event, limits) is position
    elif (state, event) in PUBLISHED:
        found = advance_fallback(position, event, limits)
        assert (found.state, found.transitions) == (PUBLISHED[state, event], 1)
    else:
        with pytest.raises(InvalidTransition, match=event.value):
            advance_fallback(position, event, limits)
    assert (len(FallbackState), len(FallbackEvent), TRANSITIONS) == (7, 6, PUBLISHED)


def test_used_up_retries_select_and_used_up_candidates_exhaust() -> None:
    limits = FallbackLimits(1, 1)
    retrying = FallbackPosition(S.RETRYING, tried=1)
    again = advance_fallback(retrying, E.RETRYABLE_ERROR, limits)
    assert (again.state, again.retries) == (S.ATTEMPTING, 1)
    assert advance_fallback(FallbackPosition(S.RETRYING, 1, 1), E.RETRYABLE_ERROR, limits).state is S.SELECTING
    assert advance_fallback(FallbackPosition(S.SELECTING, 1), E.PROVIDER_SUCCESS, limits).state is S.EXHAUSTED


@table(("candidates", "retries"), [(0, 0), (1, 0), (2, 0), (1, 2), (3, 1), (2, 3)])
def test_the_longest_of_all_sequences_reaches_the_bound_and_none_exceeds_it(candidates: int, retries: int) -> None:
    limits = FallbackLimits(candidates, retries)
    longest, reached = 0, {FallbackPosition()}
    while reached:
        following: set[FallbackPosition] = set()
        for position in reached:
            for event in FallbackEvent:
                if (position.state, event) in TRANSITIONS:
                    following.add(advance_fallback(position, event, limits))
        reached = following
        longest = max([longest, *(each.transitions for each in reached)])
        assert longest <= limits.max_transitions  # and so the search ends
    assert longest == limits.max_transitions == candidates * (2 * retries + 3) + 2


@given(st.lists(st.sampled_from(FallbackEvent), max_size=80), st.integers(0, 4), st.integers(0, 3))
def test_no_sequence_of_events_leaves_the_bound(events: list[FallbackEvent], candidates: int, retries: int) -> None:
    position, limits = FallbackPosition(), FallbackLimits(candidates, retries)
    for event in events:
        try:
            position = advance_fallback(position, event, limits)
        except InvalidTransition:
            continue
    assert position.transitions <= limits.max_transitions
    assert position.tried <= candidates
    assert position.retries <= retries


@table(
    ("error", "event"),
    [
        (RateLimited(""), E.RETRYABLE_ERROR),
        (Overloaded(""), E.RETRYABLE_ERROR),
        (ProviderUnavailable(""), E.RETRYABLE_ERROR),
        (ModelTimeout(""), E.TIMEOUT),
        (AuthenticationFailed(""), E.RETRYABLE_ERROR),
        (BudgetExceeded("DailyTokens", 1, 1), E.RETRYABLE_ERROR),
        (ContextOverflow(""), E.FATAL_ERROR),
        (BadRequest(""), E.FATAL_ERROR),
        (ModelError(""), E.FATAL_ERROR),
        (InputError(""), E.FATAL_ERROR),
    ],
)
def test_what_an_error_means_for_the_other_candidates(error: SophonError, event: FallbackEvent) -> None:
    assert fallback_event_from_error(error) is event
    assert fallback_event_from_error(error, has_output=True) is E.FATAL_ERROR


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


RETRY = ("attempting", "retrying") * 2


@table(
    ("first", "second", "states"),
    [
        ([], [], None),
        ([Overloaded("")], [], ("idle", "selecting", "attempting", "retrying", "attempting", "succeeded")),
        (
            [Overloaded("")] * 2,
            [],
            ("idle", "selecting", *RETRY, "selecting", "attempting", "succeeded"),
        ),
        (
            [Overloaded("")] * 2,
            [Overloaded("")] * 2,
            ("idle", "selecting", *RETRY, "selecting", *RETRY, "selecting", "exhausted"),
        ),
        ([BadRequest("")], [], ("idle", "selecting", "attempting", "aborted")),
    ],
)
async def test_the_states_of_a_call_are_in_the_trace(
    first: list[SophonError], second: list[SophonError], states: tuple[str, ...] | None
) -> None:
    def model(name: str, errors: list[SophonError]) -> Provider:
        left = list(errors)

        async def answer(request: ModelRequest) -> str:
            if left:
                raise left.pop()
            return "done"

        return Provider(name, [FunctionModel(answer, name=name)])

    events = EventRecorder()
    services = Services(
        models=[model("a", first), model("b", second)],
        clock=VirtualClock(),
        events=events,
        settings={"Failover": {"MaxRetries": 1}},
    )
    try:
        await twelve(services).run(services.turn("hello"))
    except ModelError:
        assert states is not None
        assert states[-1] != "succeeded"
    found = [each.states for each in events.of(ModelFallback)]
    assert found == ([states] if states is not None else [])
    for each in events.of(ModelFallback):
        assert len(each.states) - 1 <= each.max_transitions == 12


async def test_a_call_that_is_cancelled_ends_as_aborted_in_the_trace() -> None:
    asked = asyncio.Event()

    async def fail(request: ModelRequest) -> str:
        raise ProviderUnavailable("down")

    async def hang(request: ModelRequest) -> str:
        asked.set()
        await asyncio.Event().wait()
        return ""

    events = EventRecorder()
    models = [Provider(name, [FunctionModel(each, name=name)]) for name, each in (("a", fail), ("b", hang))]
    services = Services(models=models, clock=VirtualClock(), events=events, settings={"Failover": {"MaxRetries": 0}})
    turn = asyncio.create_task(twelve(services).run(services.turn("hello")))
    await asked.wait()
    turn.cancel()
    await asyncio.wait([turn])
    [found] = events.of(ModelFallback)
    assert found.states == ("idle", "selecting", "attempting", "retrying", "selecting", "attempting", "aborted")


async def test_a_call_that_is_cancelled_while_it_waits_is_aborted_from_retrying() -> None:
    async def limited(request: ModelRequest) -> str:
        raise RateLimited("slow down", retry_after=20)

    events = EventRecorder()
    services = Services(models=FunctionModel(limited), clock=VirtualClock(auto=False), events=events)
    turn = asyncio.create_task(twelve(services).run(services.turn("hello")))
    async with asyncio.timeout(30):
        while not any(each.status == "retrying" for each in events.of(AgentStatus)):
            await asyncio.sleep(0)
    turn.cancel()
    await asyncio.wait([turn])
    [found] = events.of(ModelFallback)
    assert found.states == ("idle", "selecting", "attempting", "retrying", "aborted")
