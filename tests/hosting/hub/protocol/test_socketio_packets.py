"""Packets of Socket.IO: whatever is sent is read, and what cannot be read says why and under which id to answer."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from socketio.packet import Packet as LibraryPacket

from sophon_hosting.hub.protocol.socketio_packets import (
    SocketIoPacket,
    encode_ack_packet,
    encode_event_packet,
    parse_packet,
    utf8_length,
)


@pytest.mark.parametrize(
    ("text", "packet"),
    [
        ('2["join",{}]', SocketIoPacket("event", data=["join", {}])),
        ('27["join",1]', SocketIoPacket("event", ack="7", data=["join", 1])),
        ('2/operator,12["join"]', SocketIoPacket("event", "/operator", "12", ["join"])),
        ("0", SocketIoPacket("connect")),
        ('0{"token":"t"}', SocketIoPacket("connect", data={"token": "t"})),
        ('0/operator,{"token":"t"}', SocketIoPacket("connect", "/operator", data={"token": "t"})),
        ("0/operator", SocketIoPacket("connect", "/operator")),
        ("0/operator?a=b,", SocketIoPacket("connect", "/operator")),
        ("1/operator,", SocketIoPacket("disconnect", "/operator")),
        ("31[]", SocketIoPacket("ack", ack="1", data=[])),
        (
            '52-/operator,7["x",{"_placeholder":true,"num":0}]',
            SocketIoPacket("binary", "/operator", "7", attachments=2),
        ),
        ("61-3[]", SocketIoPacket("binary", attachments=1)),
    ],
)
def test_a_packet_is_read(text: str, packet: SocketIoPacket) -> None:
    assert parse_packet(text) == packet


@pytest.mark.parametrize(
    ("text", "ack"),
    [
        ("", None),
        ("9[]", None),
        ("4{}", None),
        ("hello", None),
        ("2", None),
        ("2{}", None),
        ("25[]", "5"),
        ("25[1]", "5"),
        ('25["a"', "5"),
        ("25" + "[" * 900_000, "5"),
        ("2/operator,5[" + '{"a":' * 2000, "5"),
        ("2" + "1" * 16 + '["a"]', None),
        ('25["\\ud800"]', "5"),
        ("2٣[]", None),
        ("25NaN", "5"),
    ],
)
def test_what_cannot_be_read_says_why_and_whom_to_answer(text: str, ack: str | None) -> None:
    packet = parse_packet(text)
    assert (packet.kind, packet.ack, bool(packet.problem)) == ("malformed", ack, True)


@given(st.text())
def test_no_text_breaks_the_reader(text: str) -> None:
    assert parse_packet(text).namespace.startswith("/")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
    max_leaves=10,
)


@given(name=st.text(st.characters(exclude_categories=["Cs"])), payload=JSON, ack=st.none() | st.integers(0, 2**40))
def test_what_the_library_writes_is_read_as_it_was_meant(name: str, payload: object, ack: int | None) -> None:
    text = LibraryPacket(2, data=[name, payload], namespace="/operator", id=ack).encode()
    packet = parse_packet(text)
    assert (packet.kind, packet.namespace, packet.data) == ("event", "/operator", [name, payload])
    assert packet.ack == (None if ack is None else str(ack))


@pytest.mark.parametrize("namespace", ["/", "/operator"])
def test_the_library_reads_what_is_written(namespace: str) -> None:
    event = LibraryPacket(encoded_packet=encode_event_packet(namespace, json.dumps(["message", {"content": "ä"}])))
    ack = LibraryPacket(encoded_packet=encode_ack_packet(namespace, "7", '{"ok":true}'))
    assert (event.packet_type, event.namespace or "/", event.data) == (2, namespace, ["message", {"content": "ä"}])
    assert (ack.packet_type, ack.namespace or "/", ack.id, ack.data) == (3, namespace, 7, [{"ok": True}])


@given(st.text())
def test_the_size_of_a_text_is_that_on_the_wire(text: str) -> None:
    assert utf8_length(text) == len(text.encode("utf-8", "surrogatepass"))
