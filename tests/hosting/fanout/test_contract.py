"""Contract of every fan-out."""

import asyncio
import logging

import pytest

from sophon_hosting.fanout.connected_fanout import ConnectedFanout
from sophon_hosting.fanout.contract import (
    HintsLost,
    HostMessage,
    RunSignalled,
    SessionAdvanced,
    SessionLabelled,
    SessionRemoved,
    SnapshotWanted,
    StreamedText,
    TransientEvent,
    Wake,
    WatchStarted,
    WireMessage,
)
from sophon_hosting.fanout.host_messages import encode_message
from tests.hosting.fanout.conftest import Network
from tests.hosting.fanout.servers import WAIT_SECONDS

EVERY_KIND: tuple[WireMessage, ...] = (
    SessionAdvanced("s", 12, 3),
    StreamedText("s", "t", "r", 2, 1, 100, "ä text\nof \x00 two lines \ud800", 7),
    TransientEvent("s", "t", 2, "agent_status", {"text": "reads", "n": 1.5, "deep": {"list": [None, True]}}, 7),
    SnapshotWanted("s"),
    RunSignalled("r", "cancel"),
    SessionRemoved("s"),
    SessionLabelled("s"),
    Wake("outbox"),
)


async def test_each_message_arrives_as_it_was_sent(network: Network) -> None:
    a, b = await network.join(), await network.join()
    await b.watch("s")
    for message in EVERY_KIND:
        a.fanout.publish(message)
    assert await b.until_received(len(EVERY_KIND)) == list(EVERY_KIND)


async def test_nobody_hears_himself(network: Network) -> None:
    a, b = await network.join(), await network.join()
    await a.watch("s")
    a.fanout.publish(SessionAdvanced("s", 1))
    a.fanout.publish(Wake("outbox"))
    b.fanout.publish(Wake("schedules"))
    await a.until_received(1)
    a.fanout.publish(Wake("end"))
    await b.until_received(2)
    assert a.messages == [Wake("schedules")]
    assert b.messages == [Wake("outbox"), Wake("end")]


async def test_the_messages_of_a_host_arrive_in_order(network: Network) -> None:
    a, b, c = await network.join(), await network.join(), await network.join()
    await c.watch("s")
    for number in range(500):
        a.fanout.publish(SessionAdvanced("s", number) if number % 3 else Wake(f"a{number}"))
        b.fanout.publish(Wake(f"b{number}"))
        if number % 50 == 0:
            await asyncio.sleep(0)
    received = await c.until_received(1000)
    of_b = [each for each in received if isinstance(each, Wake) and each.what.startswith("b")]
    assert of_b == [Wake(f"b{number}") for number in range(500)]
    assert [each for each in received if each not in of_b] == [
        SessionAdvanced("s", number) if number % 3 else Wake(f"a{number}") for number in range(500)
    ]


async def test_only_who_watches_a_session_receives_its_messages(network: Network) -> None:
    a, b, c = await network.join(), await network.join(), await network.join()
    await b.watch("s")
    for message in (SessionAdvanced("s", 1), SessionAdvanced("other", 1), Wake("end")):
        a.fanout.publish(message)
    await asyncio.gather(b.until_received(2), c.until_received(1))
    assert b.messages == [SessionAdvanced("s", 1), Wake("end")]
    assert c.messages == [Wake("end")]


async def test_who_stops_to_watch_receives_no_more(network: Network) -> None:
    a, b = await network.join(), await network.join()
    await b.watch("s")
    await b.watch("other")
    b.fanout.unwatch_session("s")
    b.fanout.unwatch_session("never watched")
    for message in (SessionAdvanced("s", 1), SessionAdvanced("other", 1), Wake("end")):
        a.fanout.publish(message)
    await b.until_received(2)
    assert b.messages == [SessionAdvanced("other", 1), Wake("end")]


async def test_who_watches_all_sessions_receives_each_message_once(network: Network) -> None:
    a, b = await network.join(), await network.join()
    await b.watch("s")
    b.fanout.watch_all_sessions(True)
    await b.watch("later")  # once this is answered, so is what was asked before
    for message in (SessionAdvanced("s", 1), SessionAdvanced("other", 1), Wake("end")):
        a.fanout.publish(message)
    await b.until(lambda: Wake("end") in b.messages)
    assert b.messages == [SessionAdvanced("s", 1), SessionAdvanced("other", 1), Wake("end")]
    b.fanout.watch_all_sessions(False)
    await b.watch("last")
    for message in (SessionAdvanced("other", 2), SessionAdvanced("s", 2), Wake("end")):
        a.fanout.publish(message)
    await b.until_received(5)
    assert b.messages[3:] == [SessionAdvanced("s", 2), Wake("end")]


async def test_a_session_watched_again_is_reported_again(network: Network) -> None:
    b = await network.join()
    await b.watch("s")
    b.fanout.unwatch_session("s")
    b.fanout.watch_session("s")
    await b.until(lambda: b.everything.count(WatchStarted("s")) == 2)


async def test_a_listener_that_fails_does_not_disturb_the_others(
    network: Network, caplog: pytest.LogCaptureFixture
) -> None:
    a, b = await network.join(), await network.join()
    heard: list[HostMessage] = []

    def fail(_: HostMessage) -> None:
        raise RuntimeError("broken")

    b.fanout.subscribe(fail)
    b.fanout.subscribe(heard.append)
    a.fanout.publish(Wake("one"))
    a.fanout.publish(Wake("two"))
    await b.until(lambda: len(heard) == 2)
    assert "a listener failed on the message Wake" in caplog.text
    b.fanout.unsubscribe(fail)
    b.fanout.unsubscribe(heard.append)
    a.fanout.publish(Wake("three"))
    await b.until_received(3)
    assert len(heard) == 2


async def test_a_large_text_arrives_in_pieces_that_continue_each_other(network: Network) -> None:
    a, b = await network.join(), await network.join()
    await b.watch("s")
    text = "".join(chr(0x1F600 + number % 50) + "\n\x01ü" for number in range(30_000))
    a.fanout.publish(StreamedText("s", "t", "r", 1, 1, 40, text))
    a.fanout.publish(Wake("end"))
    await b.until(lambda: Wake("end") in b.messages)
    pieces = [each for each in b.messages if isinstance(each, StreamedText)]
    assert "".join(each.text for each in pieces) == text
    assert [each.offset for each in pieces] == [40 + sum(len(p.text) for p in pieces[:i]) for i in range(len(pieces))]


async def test_what_cannot_be_divided_is_dropped_with_one_line(
    server_network: Network, caplog: pytest.LogCaptureFixture
) -> None:
    a, b = await server_network.join(), await server_network.join()
    for _ in range(3):
        a.fanout.publish(Wake("x" * 300_000))
    a.fanout.publish(Wake("small"))
    assert await b.until_received(1) == [Wake("small")]
    assert caplog.text.count("were dropped") == 1


async def test_what_no_host_has_sent_is_ignored_with_one_line(
    server_network: Network, caplog: pytest.LogCaptureFixture
) -> None:
    b = await server_network.join()
    for payload in (
        b"garbage",
        b"[]",
        b'{"v":1,"h":"x"}',
        b'{"v":1,"h":"x","m":["wake"]}',
        b'{"v":1,"h":"x","m":[["wake",{}]]}',
        b'{"v":1,"h":"x","m":[["advanced",{"session_id":"s","seq":"many"}]]}',
        b'{"v":1,"h":"x","m":[["wake",7]]}',
    ):
        await server_network.send_raw(payload)
    await server_network.send_raw(b'{"v":1,"h":"x","m":[%s]}' % encode_message(Wake("good")))
    assert await b.until_received(1) == [Wake("good")]
    assert caplog.text.count("ignored a message between hosts") == 1


async def test_what_another_version_says_is_ignored_as_far_as_it_is_unknown(
    server_network: Network, caplog: pytest.LogCaptureFixture
) -> None:
    b = await server_network.join()
    for payload in (
        b'{"v":2,"h":"x","m":"another form"}',
        b'{"v":1,"h":"x","new":true,"m":[["news",{"a":1}],["wake",{"what":"one","how":"soon"}],[7,{}]]}',
    ):
        await server_network.send_raw(payload)
    assert await b.until_received(1) == [Wake("one")]
    assert not caplog.records


async def test_after_the_server_was_away_messages_arrive_again(
    server_network: Network, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "sophon")
    proxy = await server_network.proxy()
    a, b = await server_network.join(), await server_network.join(proxy.url)
    await b.watch("s")
    await proxy.cut()
    await b.until(lambda: not b.fanout.is_connected)
    a.fanout.publish(SessionAdvanced("s", 1))
    b.fanout.publish(Wake("kept meanwhile"))
    b.fanout.watch_session("later")
    await proxy.start()
    await b.until(lambda: HintsLost() in b.everything)
    a.fanout.publish(SessionAdvanced("s", 2))
    a.fanout.publish(SessionAdvanced("later", 1))
    await b.until(lambda: SessionAdvanced("later", 1) in b.messages)
    assert b.messages == [SessionAdvanced("s", 2), SessionAdvanced("later", 1)]
    await a.until(lambda: Wake("kept meanwhile") in a.messages)
    assert caplog.text.count("messages between hosts are not passed on") == 1
    assert "hidden-word" not in caplog.text


async def test_a_server_that_is_away_at_the_start_is_no_error(
    server_network: Network, caplog: pytest.LogCaptureFixture
) -> None:
    proxy = await server_network.proxy()
    await proxy.cut()
    fanout = server_network.make(proxy.url)
    await fanout.open()
    for number in range(10_001):
        fanout.publish(Wake(str(number)))
    assert caplog.text.count("were dropped") == 1
    a = await server_network.join()
    await proxy.start()
    await a.until(lambda: Wake("10000") in a.messages)
    assert a.messages[0] == Wake("1")  # the oldest was dropped
    await fanout.close()
    assert not fanout.is_connected
    assert "hidden-word" not in caplog.text


async def test_closing_sends_what_waits(network: Network) -> None:
    a, b = await network.join(), await network.join()
    for number in range(100):
        a.fanout.publish(Wake(str(number)))
    await a.fanout.close()
    assert await b.until_received(100) == [Wake(str(number)) for number in range(100)]


async def test_an_unforeseen_error_at_each_attempt_is_logged_once_with_its_traceback(
    server_network: Network, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    fanout = server_network.make()
    assert isinstance(fanout, ConnectedFanout)
    attempts: list[None] = []

    async def fail() -> None:
        attempts.append(None)
        raise RuntimeError("a defect of the transport")

    monkeypatch.setattr(fanout._transport, "receive_forever", fail)
    await fanout.open()
    async with asyncio.timeout(WAIT_SECONDS):
        while len(attempts) < 4:
            await asyncio.sleep(0.005)
    await fanout.close()
    failures = [record for record in caplog.records if "passing on messages between hosts failed" in record.message]
    assert [record.exc_info is not None for record in failures] == [True]
