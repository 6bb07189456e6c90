"""What the hub relies on in python-socketio and python-engineio beyond their documentation: a release that changes it
fails here first.
"""

import inspect
from typing import Any

import engineio
import pytest
import socketio
from engineio.async_drivers import aiohttp as driver
from engineio.async_socket import AsyncSocket
from engineio.packet import CLOSE, MESSAGE, Packet

OVERRIDDEN = {
    "_engineio_server_class": ["self"],
    "_handle_eio_connect": ["self", "eio_sid", "environ"],
    "_handle_eio_message": ["self", "eio_sid", "data"],
    "_handle_eio_disconnect": ["self", "eio_sid", "reason"],
    "_trigger_event": ["self", "event", "namespace", "args"],
    "_send_packet": ["self", "eio_sid", "pkt"],
}
CALLED = {
    "_handle_connect": ["self", "eio_sid", "namespace", "data"],
    "_handle_disconnect": ["self", "eio_sid", "namespace", "reason"],
}


def parameters(function: Any) -> list[str]:
    return list(inspect.signature(function).parameters)


@pytest.mark.parametrize(("name", "expected"), {**OVERRIDDEN, **CALLED}.items())
def test_the_methods_that_the_hub_replaces_or_calls_are_as_they_were(name: str, expected: list[str]) -> None:
    assert parameters(getattr(socketio.AsyncServer, name)) == expected


def test_engineio_takes_websocket_and_request_from_a_table_that_can_be_replaced() -> None:
    assert {"websocket", "translate_request"} <= set(driver._async)
    assert parameters(driver._async["translate_request"]) == ["request"]
    assert "self.server._async['websocket'](" in inspect.getsource(AsyncSocket)
    assert "translate_request = self._async['translate_request']" in inspect.getsource(engineio.AsyncServer)


async def test_one_read_takes_all_that_is_in_the_queue_and_says_so_at_once() -> None:
    socket = AsyncSocket(engineio.AsyncServer(async_mode="aiohttp"), "id")
    for text in "abc":
        socket.queue.put_nowait(Packet(MESSAGE, data=text))
    assert [packet.data for packet in await socket.poll()] == ["a", "b", "c"]
    await socket.queue.join()


async def test_nothing_in_the_queue_ends_the_writer_after_what_came_before() -> None:
    socket = AsyncSocket(engineio.AsyncServer(async_mode="aiohttp"), "id")
    for packet in (Packet(CLOSE), None):
        socket.queue.put_nowait(packet)
    assert [packet.packet_type for packet in await socket.poll()] == [CLOSE]
    assert await socket.poll() == []


def test_a_packet_keeps_its_encoding_for_all_who_share_it() -> None:
    packet = Packet(MESSAGE, data='2["a"]')
    assert packet.encode() is packet.encode(b64=True)
    assert packet.encode() == '42["a"]'


def test_a_ping_is_a_task_of_its_connection() -> None:
    assert "self.server.start_background_task(self._send_ping)" in inspect.getsource(AsyncSocket.schedule_ping)
