from hypothesis import given
from hypothesis import strategies as st

from sophon.models.gateway.circuit_breaker import FAILURE_THRESHOLD, CircuitBreaker


def tripped_at(now: float) -> CircuitBreaker:
    breaker = CircuitBreaker()
    for _ in range(3):
        breaker.record_failure(now)
    return breaker


def test_it_opens_at_the_third_failure_within_a_minute() -> None:
    breaker = CircuitBreaker()
    breaker.record_failure(0)
    breaker.record_failure(30)
    assert breaker.state(30) == "closed"
    breaker.record_failure(60)
    assert breaker.state(60) == "open"
    assert not breaker.allows_call(60)


def test_failures_more_than_a_minute_apart_do_not_add_up() -> None:
    breaker = CircuitBreaker()
    for now in (0, 31, 62, 93):
        breaker.record_failure(now)
    assert breaker.state(93) == "closed"


def test_a_probe_that_succeeds_closes_it_and_forgets_the_past() -> None:
    breaker = tripped_at(10)
    breaker.start_call(70)
    breaker.record_success()
    breaker.record_failure(70)
    assert breaker.state(70) == "closed"


def test_a_probe_that_fails_is_followed_by_another_after_half_a_minute() -> None:
    breaker = tripped_at(0)
    breaker.start_call(60)
    breaker.record_failure(61)
    assert breaker.state(90) == "open"
    assert breaker.seconds_until_probe(90) == 1
    assert breaker.state(91) == "half_open"


def test_after_five_failed_probes_it_is_open_for_a_whole_minute_again() -> None:
    breaker = tripped_at(0)
    for first in (60, 240):
        for now in range(first, first + 150, 30):
            assert breaker.allows_call(now)
            breaker.start_call(now)
            breaker.record_failure(now)
        assert breaker.state(first + 179) == "open"
    assert breaker.state(420) == "half_open"


def test_a_success_forgets_the_probes_that_failed() -> None:
    breaker = tripped_at(0)
    for now in (60, 90, 120, 150):
        breaker.start_call(now)
        breaker.record_failure(now)
    breaker.start_call(180)
    breaker.record_success()
    for _ in range(3):
        breaker.record_failure(200)
    breaker.start_call(260)
    breaker.record_failure(260)
    assert breaker.state(290) == "half_open"


def test_no_probe_waits_longer_than_the_circuit_is_open() -> None:
    breaker = CircuitBreaker(open_seconds=10)
    for _ in range(FAILURE_THRESHOLD):
        breaker.record_failure(0)
    breaker.start_call(10)
    breaker.record_failure(10)
    assert breaker.state(20) == "half_open"


def test_a_late_failure_of_an_older_call_does_not_prolong_the_bench() -> None:
    breaker = tripped_at(0)
    breaker.record_failure(50)
    assert breaker.state(60) == "half_open"


@given(
    st.lists(
        st.tuples(
            st.integers(0, 50), st.sampled_from(["start_call", "record_success", "record_failure", "abandon_call"])
        )
    )
)
def test_whatever_happens_it_lets_a_call_through_again(history: list[tuple[int, str]]) -> None:
    breaker, now = CircuitBreaker(), 0
    for pause, event in history:
        now += pause
        method = getattr(breaker, event)
        method(now) if event in ("start_call", "record_failure") else method()
    breaker.abandon_call()
    assert breaker.allows_call(now + 60)
