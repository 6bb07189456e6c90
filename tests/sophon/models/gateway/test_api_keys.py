import pytest

from sophon.models.gateway.api_keys import ApiKeyPool, ApiKeyStatistics
from sophon.testing.virtual_clock import VirtualClock


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(auto=False)


async def test_a_resting_key_hands_over_to_the_next_which_stays(clock: VirtualClock) -> None:
    ring = ApiKeyPool(["a", "b", "c"], clock)
    ring.cool_down("a", 60, model="m")
    assert ring.next_key("m") == "b"
    await clock.advance(60)
    assert ring.next_key("m") == "b"


def test_a_rest_holds_for_one_model_only(clock: VirtualClock) -> None:
    ring = ApiKeyPool(["a"], clock)
    ring.cool_down("a", model="large")
    assert ring.next_key("large") is None
    assert ring.next_key("small") == "a"


def test_a_rest_without_a_model_holds_for_all(clock: VirtualClock) -> None:
    ring = ApiKeyPool(["a"], clock)
    ring.cool_down("a")
    assert ring.next_key("large") is None


async def test_a_rest_ends_after_its_time(clock: VirtualClock) -> None:
    ring = ApiKeyPool(["a"], clock)
    ring.cool_down("a", 60, "m")
    await clock.advance(59.9)
    assert ring.next_key("m") is None
    await clock.advance(0.1)
    assert ring.next_key("m") == "a"


def test_the_key_that_rests_shortest_is_the_soonest(clock: VirtualClock) -> None:
    ring = ApiKeyPool(["a", "b"], clock)
    ring.cool_down("a", 60, "m")
    ring.cool_down("b", 10, "m")
    assert ring.earliest_key("m") == "b"


def test_the_hint_is_the_shortest_wait_the_provider_asked_for(clock: VirtualClock) -> None:
    ring = ApiKeyPool(["a", "b"], clock)
    ring.cool_down("a", 40, "m", is_provider_requested=True)
    ring.cool_down("b", 10, "m", is_provider_requested=True)
    assert ring.retry_after_seconds("m") == 10


def test_there_is_no_hint_when_one_key_rests_by_our_own_rule(clock: VirtualClock) -> None:
    ring = ApiKeyPool(["a", "b"], clock)
    ring.cool_down("a", 40, "m", is_provider_requested=True)
    ring.cool_down("b", 10, "m")
    assert ring.retry_after_seconds("m") is None


def test_statistics_count_resting_and_disabled_keys(clock: VirtualClock) -> None:
    ring = ApiKeyPool(["a", "b", "c"], clock)
    ring.cool_down("a", model="m")
    ring.cool_down("a", model="n")
    ring.disable_key("b")
    assert ring.statistics() == ApiKeyStatistics(total=3, cooling=1, disabled=1)


def test_keys_never_stand_in_a_repr(clock: VirtualClock) -> None:
    ring = ApiKeyPool(["sk-secret"], clock)
    assert "sk-secret" not in repr(ring) + repr(ring.statistics())


def test_a_ring_without_keys_is_refused(clock: VirtualClock) -> None:
    with pytest.raises(ValueError, match="at least one key"):
        ApiKeyPool([], clock)
