"""Clients of a hub in a process of their own, so that their time is not the server's: plain WebSockets, no library.

Arguments: address, mode, count. `hear`: so many clients join, say `ready`, and say `done` when all have heard the end.
`ask`: one client sends so many messages one after the other, and prints the median seconds to the first chunk. `idle`:
so many clients join, say `ready`, and stay until standard input ends.
"""

import asyncio
import json
import statistics
import sys
import time

from aiohttp import ClientSession, ClientWebSocketResponse, TCPConnector

URL, MODE, COUNT = sys.argv[1], sys.argv[2], int(sys.argv[3])


async def entered(http: ClientSession) -> ClientWebSocketResponse:
    """A client that is in, and hears the session `bench`."""
    socket = await http.ws_connect(f"{URL}/socket.io/?EIO=4&transport=websocket", max_msg_size=0)
    await socket.receive_str()
    await socket.send_str("40")
    await socket.receive_str()
    await socket.send_str('420["join_session",{"session_id":"bench"}]')
    while not (await socket.receive_str()).startswith("430"):
        pass
    return socket


async def until(socket: ClientWebSocketResponse, word: str) -> None:
    """Read until a packet has a word in it; pings are answered."""
    while True:
        text = await socket.receive_str()
        if text == "2":
            await socket.send_str("3")
        elif word in text:
            return


async def main() -> None:
    """Do as the arguments say."""
    async with ClientSession(connector=TCPConnector(limit=0)) as http:
        if MODE == "ask":
            socket = await entered(http)
            await socket.send_str('421["send_message",{"content":"warm up","session_id":"bench"}]')
            await until(socket, "task_completed")
            times: list[float] = []
            for number in range(COUNT):
                payload = json.dumps(["send_message", {"content": "hello", "session_id": "bench"}])
                began = time.perf_counter()
                await socket.send_str(f"42{number + 2}{payload}")
                await until(socket, "stream_chunk")
                times.append(time.perf_counter() - began)
                await until(socket, "task_completed")
            print(statistics.median(times), flush=True)
            return
        sockets = [await entered(http) for _ in range(COUNT)]
        print("ready", flush=True)
        if MODE == "idle":
            await asyncio.to_thread(sys.stdin.read)
            return
        await asyncio.gather(*(until(socket, "task_completed") for socket in sockets))
        print("done", flush=True)


asyncio.run(main())
