"""The hub at random: whatever arrives, every event that asks for an answer gets exactly one, and the host stays up."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sophon_hosting.features.registry import builtin_operations
from sophon_hosting.operations.request import request_shape
from tests.properties import examples

MANY = settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])

TEXT = st.text(max_size=20)
SCALAR = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT
JSON = st.recursive(
    SCALAR, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3), max_leaves=8
)
MODELS = [request_shape(each.request).model for each in builtin_operations().by_event.values()]
FIELDS = sorted({field for model in MODELS for field in model.model_fields})
VALUES = JSON | st.sampled_from(["s", "t", "approve", "edit", "Always", "", "\x00", "x" * 300, 0, -1, 2**70, True])
PAYLOAD = JSON | st.dictionaries(st.sampled_from(FIELDS), VALUES)
NAMES = st.sampled_from([*builtin_operations().by_event, "connect", "disconnect", "message", "error", ""]) | TEXT
NAMESPACES = st.sampled_from(["", "/operator,", "/nope,"])

EVENT = st.builds(
    lambda namespace, name, arguments: ("2", namespace, json.dumps([name, *arguments])),
    NAMESPACES,
    NAMES,
    st.lists(PAYLOAD, max_size=2),
)
BROKEN = st.builds(
    lambda namespace, text: ("2", namespace, f"[{text}"),
    NAMESPACES,
    st.text(st.characters(exclude_categories=["Cs"])).filter(lambda text: "]" not in text),
)
BINARY = st.builds(
    lambda count, name: (f"5{count}-", "", json.dumps([name, {"_placeholder": True, "num": 0}])),
    st.integers(0, 10**9),
    NAMES,
)
JUNK = st.builds(
    lambda kind, text: (kind, None, text),
    st.sampled_from("012356789"),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=30),
)


@MANY
@given(packets=st.lists(st.one_of(EVENT, EVENT, BROKEN, BINARY, JUNK, st.binary(max_size=9)), max_size=12))
async def test_every_event_with_an_id_is_acknowledged_once(house, packets) -> None:
    async with house.raw("olga") as raw:
        expected: list[str] = []
        for number, packet in enumerate(packets, start=10**6):
            if isinstance(packet, bytes):
                await raw.say(packet)
            elif packet[1] is None:
                await raw.say(f"4{packet[0]}{packet[2]}")
            else:
                expected.append(f"{packet[1]}{number}")
                await raw.say(f"4{packet[0]}{packet[1]}{number}{packet[2]}")
        await raw.say('42/nope,7["the end"]')
        answered: list[str] = []
        while not (text := await raw.next()).startswith("43/nope,7["):
            if text.startswith("43"):
                head, _, body = text[2:].partition("[")
                answered.append(head)
                (answer,) = json.loads(f"[{body}")
                assert isinstance(answer["ok"], bool)
                assert answer["ok"] or {"code", "message"} <= set(answer["error"])
                assert answer["ok"] or answer["error"]["code"] != "internal", answer
    # What was junk may by chance have been an event with an id of its own.
    assert [head for head in answered if head in expected] == expected


@MANY
@given(body=st.binary(max_size=60) | st.text(st.sampled_from('0123456b[]{}"/,-\x1e aé'), max_size=30).map(str.encode))
async def test_no_polling_request_brings_the_host_down(house, body) -> None:
    address = f"{house.url}/socket.io/?EIO=4&transport=polling"
    async with house.http.get(address) as answer:
        address += f"&sid={json.loads((await answer.text())[1:])['sid']}"
    async with house.http.post(address, data=body) as answer:
        assert answer.status in (200, 400)
    async with house.http.post(address, data="1") as answer:
        assert answer.status in (200, 400)


@MANY
@given(frames=st.lists(st.text(st.characters(exclude_categories=["Cs"])) | st.binary(), max_size=5))
async def test_no_websocket_frame_leaves_anything_behind(house, frames) -> None:
    async with house.raw(None) as raw:
        for frame in frames:
            if raw.socket.closed:
                break
            await raw.say(frame)
        raw.cut()
    await house.settled(lambda: not house.hub._connections and not house.hub._server.eio.sockets)


VALUE_OF_QUERY = TEXT | st.sampled_from(["4", "polling", "websocket", "0"])


@MANY
@given(query=st.dictionaries(st.sampled_from(["EIO", "transport", "sid", "j", "t"]), VALUE_OF_QUERY, max_size=4))
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS", "PUT"])
async def test_no_address_brings_the_host_down(house, query, method: str) -> None:
    async with house.http.request(method, f"{house.url}/socket.io/", params=query) as answer:
        assert answer.status < 500
