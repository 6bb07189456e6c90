"""Polling: nothing lost, nothing confirmed too early, nothing spins."""

import logging

import pytest

from sophon.testing import VirtualClock
from sophon_channels.contract import InboundMessage
from sophon_channels.telegram.polling import POLL_WATCHDOG_SECONDS, next_offset
from tests.channels.telegram.bot_api import CUT, HANG, Answer, BotApi
from tests.channels.telegram.conftest import Open
from tests.channels.telegram.parts import Box, broken_store, message, press


async def test_updates_are_kept_first_and_confirmed_after(opened: Open, api: BotApi, box: Box) -> None:
    channel = await opened()
    await api.deliver(message("one", number=1), message("two", number=2))
    arrivals = await box.holding(2)
    await api.until_confirmed(812345003)
    assert [arrival.text for arrival in arrivals if isinstance(arrival, InboundMessage)] == ["one", "two"]
    assert channel.health.last_received_at is not None
    assert channel.health.counts == {"received": 2}


async def test_what_could_not_be_kept_is_fetched_again(opened: Open, api: BotApi, box: Box) -> None:
    box.failures = [broken_store(), broken_store()]
    await api.deliver(message("one"))
    channel = await opened()
    await box.holding(1)
    await api.until_confirmed(812345002)
    assert [call.get("offset") for call in api.of("getUpdates")] == [None, None, None, 812345002]
    assert channel.health.state == "running"


async def test_an_error_of_the_hosts_own_loses_nothing_either(
    opened: Open, api: BotApi, box: Box, caplog: pytest.LogCaptureFixture
) -> None:
    box.failures = [RuntimeError("a bug")]
    await api.deliver(message("one"))
    await opened()
    await box.holding(1)
    assert "restarts in 30 s" in caplog.text


async def test_an_offset_is_sent_until_a_poll_with_it_has_succeeded(opened: Open, api: BotApi, box: Box) -> None:
    await opened()
    await api.called("getUpdates")
    api.script("getUpdates", CUT, Answer.error(500, "Internal Server Error"))
    await api.deliver(message("one", number=1))
    await api.until_confirmed(812345002)
    await api.deliver(message("two", number=2))
    await api.until_confirmed(812345003)
    offsets = [call.get("offset") for call in api.of("getUpdates")]
    assert offsets == [None, 812345002, 812345002, 812345002, 812345003]


async def test_numbers_that_begin_anew_below_the_old_ones_are_fetched(opened: Open, api: BotApi, box: Box) -> None:
    await opened()
    await api.deliver(message("before the silence", number=9))
    await api.until_confirmed(812345010)
    api.script("getUpdates", Answer.result([{**message("after", number=10), "update_id": 5}]))
    await api.deliver({**message("more", number=11), "update_id": 6})
    await box.holding(2)


async def test_updates_that_nobody_can_read_do_not_hold_up_the_others(opened: Open, api: BotApi, box: Box) -> None:
    await opened()
    await api.deliver({"update_id": 7, "message": {"chat": 5, "from": []}}, {"update_id": 8, "news": 1}, press())
    await box.holding(1)
    await api.until_confirmed(812346000)


async def test_a_second_poller_is_told_of_and_met_with_patience(
    opened: Open, api: BotApi, clock: VirtualClock, box: Box, caplog: pytest.LogCaptureFixture
) -> None:
    conflict = Answer.error(409, "Conflict: terminated by other getUpdates request")
    api.script("getUpdates", conflict, conflict, conflict)
    channel = await opened()
    await api.called("getUpdates", 3)
    assert channel.health.state == "failing"
    assert "another program polls for this bot's updates" in channel.health.detail
    await api.deliver(message())
    await box.holding(1)
    assert clock.slept[:3] == [30, 30, 30]
    assert caplog.text.count("another program") == 1


async def test_a_poll_that_hangs_is_begun_anew_after_two_minutes(
    opened: Open, api: BotApi, clock: VirtualClock, box: Box
) -> None:
    api.script("getUpdates", HANG)
    channel = await opened()
    await api.called("getUpdates")
    await clock.advance(POLL_WATCHDOG_SECONDS + 1)
    await api.deliver(message())
    await box.holding(1)
    await api.until_confirmed(812345002)
    assert channel.health.state == "running"


async def test_pauses_grow_while_the_network_is_down(opened: Open, api: BotApi, clock: VirtualClock) -> None:
    api.script("getUpdates", *[CUT] * 8)
    await opened()
    await api.called("getUpdates", 9)
    bounds = [1, 2, 4, 8, 16, 32, 60, 60]
    assert all(0.75 * bound <= slept <= 1.25 * bound for slept, bound in zip(clock.slept, bounds, strict=True))


async def test_a_429_of_a_poll_is_obeyed(opened: Open, api: BotApi, clock: VirtualClock) -> None:
    api.script("getUpdates", Answer.error(429, "Too Many Requests", retry_after=17))
    await opened()
    await api.called("getUpdates", 2)
    assert clock.slept == [17]


async def test_a_server_that_answers_at_once_with_nothing_is_not_asked_without_end(
    opened: Open, api: BotApi, clock: VirtualClock
) -> None:
    useless = [{"message": message()["message"]}]
    api.script("getUpdates", *[Answer.result([])] * 3, *[Answer.result(useless)] * 2)
    await opened()
    await api.called("getUpdates", 6)
    assert clock.slept == [1] * 5


async def test_a_revoked_token_ends_the_polling(
    opened: Open, api: BotApi, caplog: pytest.LogCaptureFixture, clock: VirtualClock
) -> None:
    caplog.set_level(logging.INFO, "sophon")
    api.script("getUpdates", CUT, Answer.error(401, "Unauthorized"))
    channel = await opened()
    await api.called("getUpdates", 2)
    await clock.sleep(3600)
    assert channel.health.state == "refused"
    assert len(api.of("getUpdates")) == 2
    assert "rejects the bot token" in caplog.text


def test_the_offset_is_one_more_than_the_last() -> None:
    assert next_offset([{"update_id": 5}, {"update_id": 9}, {}]) == 10
    assert next_offset([{}]) is None
