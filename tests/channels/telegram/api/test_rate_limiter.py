"""The gate: what of Telegram's limits is left."""

from datetime import timedelta

import pytest

from sophon.testing import VirtualClock
from sophon_channels.telegram.api import rate_limiter
from sophon_channels.telegram.api.rate_limiter import NO_DELAY, RateLimitDelay, TelegramRateLimiter

GROUP = "-100"


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(auto=False)


@pytest.fixture
def gate(clock: VirtualClock) -> TelegramRateLimiter:
    return TelegramRateLimiter(clock)


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


def sends(gate: TelegramRateLimiter, clock: VirtualClock, chat: str, for_seconds: int) -> int:
    """How many finals get through to one who asks four times a second."""
    through = 0
    for _ in range(for_seconds * 4):
        through += gate.acquire_message(chat).delay == NO_DELAY
        clock.advance(0.25)
    return through


def test_a_chat_takes_a_short_burst_and_then_one_a_second(gate: TelegramRateLimiter, clock: VirtualClock) -> None:
    assert [gate.acquire_message("1").delay for _ in range(4)] == [NO_DELAY, NO_DELAY, NO_DELAY, seconds(3)]
    assert sends(gate, clock, "1", 60) == 57


def test_a_group_takes_twenty_a_minute_in_any_minute(gate: TelegramRateLimiter, clock: VirtualClock) -> None:
    assert sends(gate, clock, GROUP, 60) == 20
    assert sends(gate, clock, GROUP, 60) == 20


def test_a_bot_takes_thirty_a_second_over_all_chats(gate: TelegramRateLimiter) -> None:
    waits = [gate.acquire_message(str(chat)) for chat in range(31)]
    assert [wait.delay for wait in waits[:30]] == [NO_DELAY] * 30
    assert waits[30] == RateLimitDelay(seconds(1), is_account_wide=True)


def test_one_slow_chat_holds_up_no_other(gate: TelegramRateLimiter) -> None:
    waits = [gate.acquire_message("1") for _ in range(5)]
    assert waits[-1].delay > NO_DELAY
    assert not waits[-1].is_account_wide
    assert gate.acquire_message("2").delay == NO_DELAY


@pytest.mark.parametrize(("chat", "times"), [("1", [0, 1, 3, 4, 6, 7]), (GROUP, [0, 3, 6])])
def test_progress_has_its_own_pace_and_what_comes_between_is_dropped(
    gate: TelegramRateLimiter, clock: VirtualClock, chat: str, times: list[float]
) -> None:
    shown: list[float] = []
    for number in range(32):
        if gate.try_acquire_preview(chat):
            shown.append(number / 4)
        clock.advance(0.25)
    assert shown == times


def test_an_answer_never_waits_for_its_own_preview(gate: TelegramRateLimiter, clock: VirtualClock) -> None:
    for _ in range(40):
        gate.try_acquire_preview("1")
        gate.try_acquire_typing("1")
        clock.advance(0.25)
    assert gate.acquire_message("1").delay == NO_DELAY


def test_finals_get_through_where_progress_and_typing_have_used_their_half(
    gate: TelegramRateLimiter, clock: VirtualClock
) -> None:
    for _ in range(50):
        gate.try_acquire_preview(GROUP)
        gate.try_acquire_typing(GROUP)
        clock.advance(1)
    assert not gate.try_acquire_typing(GROUP)
    through = 0
    for _ in range(10):
        through += gate.acquire_message(GROUP).delay == NO_DELAY
        clock.advance(1)
    assert through == 10


def test_a_refused_chat_waits_as_long_as_telegram_says_and_sees_no_more_progress(
    gate: TelegramRateLimiter, clock: VirtualClock
) -> None:
    assert gate.record_refusal("1", seconds(17)) == RateLimitDelay(seconds(17))
    assert gate.acquire_message("1") == RateLimitDelay(seconds(17))
    assert gate.acquire_message("2").delay == NO_DELAY
    clock.advance(18)
    assert not gate.try_acquire_preview("1")
    assert not gate.try_acquire_typing("1")
    assert gate.acquire_message("1").delay == NO_DELAY
    clock.advance(rate_limiter.PREVIEW_PAUSE_SECONDS)
    assert gate.try_acquire_preview("1")


def test_three_chats_refused_at_once_stop_the_whole_bot(gate: TelegramRateLimiter) -> None:
    delays = [gate.record_refusal(chat, seconds(20)) for chat in ("1", "2", "3")]
    assert delays == [RateLimitDelay(seconds(20))] * 3
    assert gate.acquire_message("9") == RateLimitDelay(seconds(20), is_account_wide=True)


def test_three_chats_refused_for_a_day_stop_the_whole_bot_for_a_minute_only(
    gate: TelegramRateLimiter, clock: VirtualClock
) -> None:
    for chat in ("1", "2", "3"):
        gate.record_refusal(chat, seconds(86_400))
    assert gate.acquire_message("9") == RateLimitDelay(seconds(60), is_account_wide=True)
    clock.advance(61)
    assert gate.acquire_message("9") == RateLimitDelay()
    assert gate.acquire_message("1") == RateLimitDelay(seconds(86_400 - 61))


def test_refusals_far_apart_stop_nobody_else(gate: TelegramRateLimiter, clock: VirtualClock) -> None:
    for chat in ("1", "2", "3"):
        gate.record_refusal(chat, seconds(5))
        clock.advance(rate_limiter.BREAKER_SECONDS)
    assert gate.acquire_message("9").delay == NO_DELAY


def test_the_gate_forgets_the_chats_that_were_longest_silent(
    clock: VirtualClock,
) -> None:
    gate = TelegramRateLimiter(clock)
    for chat in range(rate_limiter.MAX_CHATS + 50):
        gate.try_acquire_typing(str(chat))
    assert gate.statistics()["chats"] == rate_limiter.MAX_CHATS


def test_the_gate_counts_what_it_held_and_what_was_refused(gate: TelegramRateLimiter) -> None:
    for _ in range(5):
        gate.acquire_message("1")
    gate.record_refusal("1", seconds(1))
    assert gate.statistics() == {"chats": 1, "refused_total": 1, "held_total": 2}
