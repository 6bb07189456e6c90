import pytest

from sophon.testing import VirtualClock
from sophon_hosting.client_api.authentication.login_throttle import (
    FORGET_SECONDS,
    MAX_ENTRIES,
    LoginThrottle,
    failure_delay,
)


@pytest.mark.parametrize(
    ("failures", "seconds"), [(1, 0), (5, 0), (6, 0.25), (7, 0.5), (8, 1), (10, 4), (11, 5), (10**9, 5)]
)
def test_the_delay_doubles_up_to_five_seconds(failures: int, seconds: float) -> None:
    assert failure_delay(failures) == seconds


async def test_failures_count_for_their_address() -> None:
    clock = VirtualClock()
    throttle = LoginThrottle(clock)
    for number in range(6):
        await throttle.delay_failure("192.0.2.1", f"token-{number}")
    await throttle.delay_failure("192.0.2.2", "another")
    assert clock.slept == [0.25]


async def test_one_wrong_token_from_many_addresses_counts_as_one_client() -> None:
    clock = VirtualClock()
    throttle = LoginThrottle(clock)
    for number in range(6):
        await throttle.delay_failure(f"192.0.2.{number}", "the same")
    assert clock.slept == [0.25]


async def test_failures_are_forgotten_after_a_while() -> None:
    clock = VirtualClock()
    throttle = LoginThrottle(clock)
    for _ in range(5):
        await throttle.delay_failure("192.0.2.1")
    await clock.sleep(FORGET_SECONDS + 1)
    await throttle.delay_failure("192.0.2.1")
    assert clock.slept == [FORGET_SECONDS + 1]


async def test_what_is_remembered_is_bounded_and_one_line_is_logged(caplog) -> None:
    throttle = LoginThrottle(VirtualClock())
    for number in range(MAX_ENTRIES):
        await throttle.delay_failure(f"address {number}", f"token {number}")
    assert len(throttle) == MAX_ENTRIES
    assert len(caplog.records) == 1
