"""Packets of Engine.IO: what is none is known before the library meets it."""

import pytest
from engineio.packet import Packet
from hypothesis import given
from hypothesis import strategies as st

from sophon_hosting.hub.protocol.engineio_transport import find_payload_problem, is_engineio_packet


@pytest.mark.parametrize("frame", ["2", "2probe", "3", "3probe", "5", "1", "6", "40", '42["a"]', "44", b"\x00"])
def test_a_packet_is_taken(frame: str | bytes) -> None:
    assert is_engineio_packet(frame)


@pytest.mark.parametrize(
    "frame", ["", "x", "7", "²", "3[[[[", '0{"sid":""}', "4[[[[", "4", "4x", "bAAAA", "22", "\x1e"]
)
def test_what_is_none_is_not(frame: str) -> None:
    assert not is_engineio_packet(frame)


@given(st.text())
def test_the_library_can_read_whatever_is_taken(text: str) -> None:
    if is_engineio_packet(text):
        assert Packet(encoded_packet=text).packet_type in range(7)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"40", ""),
        (b'42["a"]\x1e3', ""),
        (b"451-[]\x1ebAAAA", ""),
        (b"", "not an Engine.IO packet"),
        (b"\xff", "not UTF-8"),
        (b"b!", "not an Engine.IO packet"),
        (b"40\x1e", "not an Engine.IO packet"),
        (b"d=40", "not an Engine.IO packet"),
        (b"2", "not an Engine.IO packet"),
        (b"1\x1e5", "not an Engine.IO packet"),
        (b"\x1e".join([b"3"] * 17), "17 packets; at most 16"),
    ],
)
def test_the_body_of_a_polling_request_is_looked_at(body: bytes, problem: str) -> None:
    found = find_payload_problem(body)
    assert problem in found
    assert bool(problem) == bool(found)
