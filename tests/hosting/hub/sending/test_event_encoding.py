"""An event is encoded once for all who are told it, also where they know its session by a name of their own."""

import asyncio
import sys

import pytest

from sophon_hosting.client_api.scoped_session_ids import to_scoped_session_id
from sophon_hosting.events.wire_event import WireEvent
from sophon_hosting.hub.protocol.engineio_transport import TextMessage
from sophon_hosting.hub.sending.event_encoding import MAX_CACHED_BYTES, EventEncoder


def said(text: str, session_id: str = "s") -> WireEvent:
    return WireEvent("message", {"session_id": session_id, "content": text}, session_id)


def test_all_connections_of_one_user_share_a_session_that_is_known_by_another_name() -> None:
    stored = to_scoped_session_id("s", "ada")
    encoder, event = EventEncoder(TextMessage), said("hello", stored)
    first, second = (encoder.encode(event, "ada").engine_message("/") for _ in range(2))
    operators = encoder.encode(event, "olga").engine_message("/")
    assert first is second
    assert isinstance(first, TextMessage)
    assert isinstance(operators, TextMessage)
    assert (stored in first.encoded.decode(), stored in operators.encoded.decode()) == (False, True)


async def test_a_long_text_is_not_kept_after_it_was_delivered() -> None:
    encoder = EventEncoder(TextMessage)
    text = "x" * MAX_CACHED_BYTES
    encoded = encoder.encode(said(text))
    assert encoder.encode(encoded.event) is encoded
    before = sys.getrefcount(encoded)
    await asyncio.sleep(0)
    assert sys.getrefcount(encoded) == before - 1


async def test_a_later_event_is_not_forgotten_for_an_earlier_long_one() -> None:
    encoder = EventEncoder(TextMessage)
    encoder.encode(said("x" * MAX_CACHED_BYTES))
    event = said("later")
    encoded = encoder.encode(event)
    await asyncio.sleep(0)
    assert encoder.encode(event) is encoded


@pytest.mark.parametrize("text", ["plain", "\N{EN DASH} \N{GRINNING FACE}", ""])
def test_a_message_is_the_same_to_both_transports(text: str) -> None:
    message = TextMessage(text)
    assert message.encode() is message
    assert message.encode(b64=True) == f"4{text}" == message.encoded.decode()


def test_a_message_is_counted_with_its_text() -> None:
    assert 100_000 < sys.getsizeof(TextMessage("x" * 100_000)) < 100_200
