"""Whatever a client sends, it is answered, and the host stays up."""

import asyncio
import json
from contextlib import suppress

import pytest

from sophon_hosting.client_api.client_message import MAX_CONTENT_CHARACTERS


async def answer(raw, text: str) -> dict:
    """The acknowledgement of a packet with the id 7, or the `error` event."""
    await raw.say(text)
    packet = await raw.next()
    if packet.startswith("437["):
        return json.loads(packet[3:])[0]
    assert packet.startswith('42["error",'), packet
    return {"ok": False, "error": json.loads(packet[2:])[1]}


async def works(raw) -> bool:
    """Whether the same client is still served."""
    return (await answer(raw, '427["list_sessions",{}]'))["ok"]


@pytest.mark.parametrize(
    ("packet", "code"),
    [
        ('427["no_such_event",{}]', "unknown_event"),
        ('427["connect",{"token":"x"}]', "unknown_event"),
        ('427["disconnect"]', "unknown_event"),
        ('427["message","hello"]', "unknown_event"),
        ('42["send_mesage",{"content":"hello"}]', "unknown_event"),
        ('427["send_message"]', "input"),
        ('427["send_message",{"content":5}]', "input"),
        ('427["send_message",{"content":"   "}]', "input"),
        ('427["send_message",{"content":"a","planning":"Perhaps"}]', "input"),
        ('427["send_message",{"content":"a","max_iterations":501}]', "input"),
        ('427["send_message",{"content":"a","model":"nobody"}]', "not_found"),
        ('427["send_message",{"content":"a","session_id":"a\\u0000b"}]', "input"),
        ('427["send_message",{"content":"a","session_id":""}]', "input"),
        ('427["join_session",{"session_id":"s","last_seq":"4"}]', "input"),
        ('427["join_session","s"]', "input"),
        ('427["join_session",{"session_id":"s"},{}]', "input"),
        ('427["cancel_task",{"task_id":"none"}]', "not_found"),
        ('427["decide_approval",{"approval_id":"none","decision":"approve"}]', "not_found"),
        ('427["decide_approval",{"approval_id":"none","decision":"edit","arguments":' + '{"a":' * 500, "malformed"),
        ("427[", "malformed"),
        ("427[5]", "malformed"),
        ("427{}", "malformed"),
        ("427" + "[" * 500_000, "malformed"),
        ('427["send_message",{"content":"\\ud800"}]', "malformed"),
        ('4517-7["send_message",{"content":{"_placeholder":true,"num":0}}]', "input"),
        ("42", "malformed"),
        ("49", "malformed"),
        ('44{"message":"no"}', "malformed"),
    ],
)
async def test_a_mistake_is_answered_and_the_client_stays(house, packet: str, code: str) -> None:
    async with house.raw() as raw:
        failure = await answer(raw, packet)
        assert (failure["ok"], failure["error"]["code"]) == (False, code)
        assert await works(raw)


async def test_an_unknown_event_is_answered_with_the_near_name(house) -> None:
    ada = await house.peer()
    error = await ada.refused("send_mesage", {"content": "hello"})
    assert "did you mean 'send_message'?" in error["message"]


async def test_binary_data_is_refused_and_what_follows_it_is_understood(house) -> None:
    async with house.raw() as raw:
        failure = await answer(raw, '452-7["send_message",{"_placeholder":true,"num":0},{"_placeholder":true,"num":1}]')
        assert failure["error"]["code"] == "input"
        await raw.say(b"one")
        await raw.say(b"two")
        assert await works(raw)


async def test_binary_data_after_another_packet_belongs_to_none(house) -> None:
    async with house.raw() as raw:
        await answer(raw, '459-7["send_message",{"_placeholder":true,"num":0}]')
        assert await works(raw)
        await raw.say(b"late")
        assert '"error"' in await raw.next()


async def test_an_event_in_a_namespace_that_was_not_entered_is_answered(house) -> None:
    async with house.raw(None) as raw:
        assert (await answer(raw, '427["list_sessions",{}]'))["error"]["code"] == "not_connected"
        await raw.say('42/operator,7["list_sessions",{}]')
        assert (await raw.next()).startswith("43/operator,7[{")


async def test_a_message_that_is_too_long_is_refused_with_its_limit(house) -> None:
    ada = await house.peer()
    error = await ada.refused("send_message", {"content": "x" * (MAX_CONTENT_CHARACTERS + 1)})
    assert (error["code"], "200,000" in error["message"]) == ("too_large", True)
    assert (await ada.done("send_message", {"content": "x" * MAX_CONTENT_CHARACTERS}))["task_id"]


@pytest.mark.parametrize("size", [10_000_000, 1_000_001])
async def test_a_frame_that_is_too_large_closes_the_connection_with_1009(house, size: int) -> None:
    async with house.raw() as raw:
        # The head of a text frame of that length, as a client sends it. Source: RFC 6455, 5.2.
        raw.write(b"\x81\xff" + size.to_bytes(8, "big") + b"mask")
        assert json.loads((await raw.next()).removeprefix("42"))[1]["code"] == "too_large"
        assert await raw.end() == 1009
    await house.settled(lambda: house.hub.statistics().connections == 0)


async def test_an_event_and_its_binary_data_are_refused_as_too_large_in_each_namespace_of_the_client(house) -> None:
    async with house.raw("olga") as raw:
        await raw.say('40/operator,{"token":"token-of-olga"}')
        while not (await raw.next()).startswith("40/operator,{"):
            pass
        await answer(raw, '451-7["send_message",{"_placeholder":true,"num":0}]')
        with suppress(ConnectionError):
            await raw.say(b"x" * 1_000_001)
        told = {await raw.next(), await raw.next()}
        assert {each.partition("[")[0] for each in told} == {"42", "42/operator,"}
        assert all('"too_large"' in each and "1,000,000 bytes" in each for each in told)
        assert await raw.end() == 1009


async def test_ten_megabytes_to_their_end_cost_nobody_else_anything(house) -> None:
    bob = await house.peer("bob")
    async with house.raw() as raw:
        with suppress(ConnectionError):
            await raw.say('427["send_message",{"content":"' + "x" * 10_000_000 + '"}]')
        await raw.end()
    await house.settled(lambda: house.hub.statistics().connections == 1)
    receipt = await bob.done("send_message", {"content": "hello"})
    assert await bob.ended(receipt["task_id"]) == "HELLO"


@pytest.mark.parametrize("frame", ["hello", "", "7", "b!!!", "4", "4[[[[[[", "3" + "[" * 100_000, '0{"sid":"x"}'])
async def test_what_is_no_packet_ends_the_connection_and_nothing_stays(house, frame: str) -> None:
    async with house.raw() as raw:
        await raw.say(frame)
        assert await raw.end() == 1008
    await house.settled(lambda: house.hub.statistics().connections == 0)
    await house.settled(lambda: not house.hub._server.eio.sockets and not house.hub._server.eio.websockets)


async def polling(house) -> str:
    """A polling connection on which ada has entered; its address."""
    address = f"{house.url}/socket.io/?EIO=4&transport=polling"
    async with house.http.get(address) as answer:
        address += f"&sid={json.loads((await answer.text())[1:])['sid']}"
    async with house.http.post(address, data='40{"token":"token-of-ada"}') as answer:
        assert answer.status == 200
    async with house.http.get(address) as answer:
        assert (await answer.text()).startswith("40{")
    return address


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"hello", 400, "malformed"),
        (b"", 400, "malformed"),
        (b"\xff\xfe", 400, "malformed"),
        (b"d=40", 400, "malformed"),
        (b"\x1e".join([b'42["list_tasks"]'] * 17), 400, "malformed"),
        (b"4" + b"x" * 1_000_001, 413, "too_large"),
    ],
)
async def test_a_polling_request_that_cannot_be_taken_is_told_why(house, body: bytes, status: int, code: str) -> None:
    address = await polling(house)
    async with house.http.post(address, data=body) as answer:
        assert (answer.status, (await answer.json())["error"]["code"]) == (status, code)
    async with house.http.post(address, data='427["list_tasks",{}]') as answer:
        assert answer.status == 200


async def test_a_body_without_a_length_is_bounded_too(house) -> None:
    async def endless():
        yield b"4"
        for _ in range(200):
            yield b"x" * 10_000

    async with house.http.post(await polling(house), data=endless()) as answer:
        assert answer.status == 413


async def test_a_long_body_is_read_to_its_end_however_it_arrives(house) -> None:
    address = await polling(house)
    content = "x" * 199_000
    async with house.http.post(address, data='427["send_message",{"content":"' + content + '"}]') as answer:
        assert answer.status == 200
    async with house.http.get(address) as answer:
        assert '437[{"ok":true' in await answer.text()


async def test_a_polling_client_never_gets_more_packets_than_it_can_read(house) -> None:
    address = await polling(house)
    for _ in range(3):
        body = "\x1e".join(f'42{ack}["list_tasks",{{}}]' for ack in range(16))
        async with house.http.post(address, data=body) as answer:
            assert answer.status == 200
    packets: list[str] = []
    while len(packets) < 48:
        async with house.http.get(address) as answer:
            payload = (await answer.text()).split("\x1e")
        assert len(payload) <= 16
        packets += payload
    assert [packet.partition("[")[0] for packet in packets] == [f"43{ack}" for ack in range(16)] * 3


async def test_a_connection_has_one_poll_at_a_time(house) -> None:
    address = await polling(house)
    polls = [asyncio.create_task(house.http.get(address)) for _ in range(3)]
    done, waiting = await asyncio.wait(polls, timeout=30, return_when=asyncio.FIRST_COMPLETED)
    while len(done) < 2:
        more, waiting = await asyncio.wait(waiting, timeout=30, return_when=asyncio.FIRST_COMPLETED)
        done |= more
    assert [(await each).status for each in done] == [400, 400]
    for each in waiting:
        each.cancel()


@pytest.mark.parametrize("sent", [None, "4nonsense", "2other"])
async def test_after_an_upgrade_that_breaks_polling_goes_on(house, sent: str | None) -> None:
    address = await polling(house)
    async with house.http.ws_connect(address.replace("transport=polling", "transport=websocket")) as socket:
        if sent is not None:
            await socket.send_str(sent)
    await house.settled(lambda: not house.hub._server.eio.websockets)
    async with house.http.post(address, data='427["list_tasks",{}]') as answer:
        assert answer.status == 200
    async with house.http.get(address) as answer:
        assert (await answer.text()).startswith('437[{"ok":true')


@pytest.mark.parametrize(
    ("query", "headers", "status", "code"),
    [
        ("EIO=3&transport=polling", [], 400, "input"),
        ("EIO=4&transport=flash", [], 400, "input"),
        ("EIO=4&transport=polling&sid=none", [], 400, "input"),
        ("EIO=4&transport=websocket", [], 400, "input"),
        ("EIO=4&transport=polling&j=0", [], 400, "input"),
        ("EIO=4&transport=polling", ["https://evil.example"], 403, "forbidden"),
        ("EIO=4&transport=polling", [""], 403, "forbidden"),
        ("EIO=4&transport=polling", ["null"], 403, "forbidden"),
        ("EIO=4&transport=polling", ["{own}", "{own}"], 403, "forbidden"),
        ("EIO=4&transport=polling", ["{own}", "https://evil.example"], 403, "forbidden"),
    ],
)
async def test_a_refused_handshake_is_told_why_in_json(house, query: str, headers, status: int, code: str) -> None:
    origins = [("Origin", each.format(own=house.url)) for each in headers]
    async with house.http.get(f"{house.url}/socket.io/?{query}", headers=origins) as answer:
        assert (answer.status, (await answer.json())["error"]["code"]) == (status, code)
