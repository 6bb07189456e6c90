"""Time at work; waiting for a person is left out."""

from sophon.clock import Stopwatch
from sophon.testing import VirtualClock


async def test_waiting_is_left_out() -> None:
    clock = VirtualClock()
    watch = Stopwatch(clock)
    await clock.sleep(5)
    watch.pause()
    await clock.sleep(1000)
    assert watch.seconds == 5
    watch.resume()
    await clock.sleep(2)

    assert watch.seconds == 7


async def test_several_waits_at_once_are_one() -> None:
    clock = VirtualClock()
    watch = Stopwatch(clock)
    watch.pause()
    watch.pause()
    await clock.sleep(10)
    watch.resume()
    await clock.sleep(10)
    assert watch.seconds == 0
    watch.resume()
    await clock.sleep(3)

    assert watch.seconds == 3


async def test_a_resumed_turn_goes_on_counting() -> None:
    clock = VirtualClock()
    watch = Stopwatch(clock, earlier_seconds=60)
    await clock.sleep(1)

    assert watch.seconds == 61
