"""An OpenAI-compatible provider in a process of its own that answers every request at once with one word."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

_EVENTS = (
    b'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"fine"},"finish_reason":null}]}\n\n'
    b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
    b"data: [DONE]\n\n"
)
_WHOLE = b'{"choices":[{"index":0,"message":{"role":"assistant","content":"fine"},"finish_reason":"stop"}]}'


def _response(media_type: bytes, body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n" % (media_type, len(body)) + body


_STREAMED, _COMPLETE = _response(b"text/event-stream", _EVENTS), _response(b"application/json", _WHOLE)


@asynccontextmanager
async def provider() -> AsyncIterator[str]:
    """Start the process; yield its base URL."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.bench.provider", stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        yield (await process.stdout.readline()).decode().strip()
    finally:
        process.terminate()
        await process.wait()


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
            body = await reader.readexactly(length)
            writer.write(_STREAMED if b'"stream":true' in body else _COMPLETE)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def _serve() -> None:
    server = await asyncio.start_server(_answer, "127.0.0.1", 0, limit=4 * 1024 * 1024)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve())
