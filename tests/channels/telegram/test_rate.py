"""The gate: what of Telegram's limits is left."""

from datetime import timedelta

import pytest

from sophon.testing import VirtualClock
from sophon_channels.telegram import rate
from sophon_channels.telegram.rate import GO, Gate, Wait

GROUP = "-100"


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(auto=False)


@pytest.fixture
def gate(clock: VirtualClock) -> Gate:
    return Gate(clock)


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


def sends(gate: Gate, clock: VirtualClock, chat: str, for_seconds: int) -> int:
    """How many finals get through to one who asks four times a second."""
    through = 0
    for _ in range(for_seconds * 4):
        through += gate.final(chat).time == GO
        clock.advance(0.25)
    return through


def test_a_chat_takes_a_short_burst_and_then_one_a_second(gate: Gate, clock: VirtualClock) -> None:
    assert [gate.final("1").time for _ in range(4)] == [GO, GO, GO, seconds(3)]
    assert sends(gate, clock, "1", 60) == 57


def test_a_group_takes_twenty_a_minute_in_any_minute(gate: Gate, clock: VirtualClock) -> None:
    assert sends(gate, clock, GROUP, 60) == 20
    assert sends(gate, clock, GROUP, 60) == 20


def test_a_bot_takes_thirty_a_second_over_all_chats(gate: Gate) -> None:
    waits = [gate.final(str(chat)) for chat in range(31)]
    assert [wait.time for wait in waits[:30]] == [GO] * 30
    assert waits[30] == Wait(seconds(1), everywhere=True)


def test_one_slow_chat_holds_up_no_other(gate: Gate) -> None:
    waits = [gate.final("1") for _ in range(5)]
    assert waits[-1].time > GO
    assert not waits[-1].everywhere
    assert gate.final("2").time == GO


def test_progress_has_its_own_pace_and_what_comes_between_is_dropped(gate: Gate, clock: VirtualClock) -> None:
    shown = 0
    for _ in range(120):
        shown += gate.progress("1")
        clock.advance(0.25)
    assert shown == 10


def test_finals_get_through_where_progress_and_typing_have_used_their_half(gate: Gate, clock: VirtualClock) -> None:
    for _ in range(50):
        gate.progress(GROUP)
        gate.typing(GROUP)
        clock.advance(1)
    assert not gate.typing(GROUP)
    through = 0
    for _ in range(10):
        through += gate.final(GROUP).time == GO
        clock.advance(1)
    assert through == 10


def test_a_refused_chat_waits_as_long_as_telegram_says_and_sees_no_more_progress(
    gate: Gate, clock: VirtualClock
) -> None:
    assert gate.refused("1", seconds(17)) == Wait(seconds(17))
    assert gate.final("1") == Wait(seconds(17))
    assert gate.final("2").time == GO
    clock.advance(18)
    assert not gate.progress("1")
    assert not gate.typing("1")
    assert gate.final("1").time == GO
    clock.advance(rate.QUIET_SECONDS)
    assert gate.progress("1")


def test_three_chats_refused_at_once_stop_the_whole_bot(gate: Gate) -> None:
    verdicts = [gate.refused(chat, seconds(20)).everywhere for chat in ("1", "2", "3")]
    assert verdicts == [False, False, True]
    assert gate.final("9") == Wait(seconds(20), everywhere=True)


def test_refusals_far_apart_stop_nobody_else(gate: Gate, clock: VirtualClock) -> None:
    for chat in ("1", "2", "3"):
        gate.refused(chat, seconds(5))
        clock.advance(rate.BREAKER_SECONDS)
    assert gate.final("9").time == GO


def test_the_gate_forgets_the_chats_that_were_longest_silent(
    clock: VirtualClock,
) -> None:
    gate = Gate(clock)
    for chat in range(rate.MOST_CHATS + 50):
        gate.typing(str(chat))
    assert gate.statistics()["chats"] == rate.MOST_CHATS


def test_the_gate_counts_what_it_held_and_what_was_refused(gate: Gate) -> None:
    for _ in range(5):
        gate.final("1")
    gate.refused("1", seconds(1))
    assert gate.statistics() == {"chats": 1, "refused_total": 1, "held_total": 2}
