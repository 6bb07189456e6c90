"""An OpenAI-compatible provider in a process of its own that answers every request at once with one word.

A model named `paced-RATE-COUNT` streams COUNT chunks of four characters, RATE of them a second, one write each; at a
RATE of 0 as fast as the connection takes them.
"""

import asyncio
import re
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
            if paced := _PACED.search(body):
                await _stream(writer, int(paced[1]), int(paced[2]))
            else:
                writer.write(_STREAMED if b'"stream":true' in body else _COMPLETE)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def _stream(writer: asyncio.StreamWriter, rate: int, count: int) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
    loop = asyncio.get_running_loop()
    due = loop.time()
    for _ in range(count):
        writer.write(_CHUNK)
        if rate:
            due += 1 / rate
            await asyncio.sleep(max(0.0, due - loop.time()))
        else:
            await writer.drain()
    writer.write(_in_chunk(_EVENTS) + b"0\r\n\r\n")


def _in_chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


_PACED = re.compile(rb'"model":"paced-(\d+)-(\d+)"')
_CHUNK = _in_chunk(b'data: {"choices":[{"index":0,"delta":{"content":"word"},"finish_reason":null}]}\n\n')


async def _serve() -> None:
    server = await asyncio.start_server(_answer, "127.0.0.1", 0, limit=4 * 1024 * 1024)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve())
