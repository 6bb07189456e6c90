"""A bare aiohttp application with a bare python-socketio server: every request is given the bytes that it is to have.

The argument is a JSON file: `http` with `{status, headers, body}` by method and path, `events` with acknowledgements by
name. It prints its address.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import socketio
from aiohttp import web


def create_app(answers: dict[str, Any]) -> web.Application:
    """Create the application with a route per request, and a handler per event."""
    app, events = web.Application(), socketio.AsyncServer(async_mode="aiohttp")
    for request, answer in answers["http"].items():
        method, _, target = request.partition(" ")
        app.router.add_route(method, target.partition("?")[0], _handler(answer))
    for name, acknowledgement in answers["events"].items():
        events.on(name, _event_handler(acknowledgement))
    events.attach(app)
    return app


def _handler(answer: dict[str, Any]) -> Any:
    async def handle(request: web.Request) -> web.Response:
        await request.read()
        return web.Response(status=answer["status"], headers=answer["headers"], body=answer["body"].encode())

    return handle


def _event_handler(acknowledgement: Any) -> Any:
    async def handle(sid: str, payload: Any) -> Any:
        return acknowledgement

    return handle


async def main(path: str) -> None:
    """Serve on loopback until the process is ended."""
    runner = web.AppRunner(create_app(json.loads(Path(path).read_text())), access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(f"http://127.0.0.1:{runner.addresses[0][1]}", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
