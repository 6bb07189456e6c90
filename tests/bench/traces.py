"""Cost of traces: a turn of a host without them, with them, and exported too: `python -m tests.bench.traces`.

The three run by turns in one process, so that the machine is the same for all; shown are medians of processor time,
which the background thread of the exporter is part of. The collector answers at once, in another process.
"""

import asyncio
import gc
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from sophon import ModelRequest, ModelResponse, Risk, Services, ToolCall, tool
from sophon.testing import FunctionModel
from sophon_hosting.host import Host, RunRequest
from sophon_hosting.host_chain import build_pipelines
from sophon_hosting.store.factory import host_store_from_url

ROUNDS = 21
TURNS = 40

COLLECTOR = """
import http.server
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *arguments): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
"""


@tool(risk=Risk.LOW)
async def look(what: str) -> str:
    """Look at something."""
    return f"{what} is there"


async def answer(request: ModelRequest) -> str | ModelResponse:
    """Answer at once; `look` takes a round with one tool call."""
    last = request.messages[-1]
    if last.role == "user" and last.content == "look":
        return ModelResponse("", [ToolCall("c1", "look", {"what": "it"})])
    return "hello"


@asynccontextmanager
async def hosted(store: str, settings: dict[str, Any]) -> AsyncGenerator[Host]:
    """Run a host with the configured chain."""
    with tempfile.TemporaryDirectory() as folder:
        kept = host_store_from_url(store, folder=Path(folder))
        chosen = {"Queue": {"Capacity": 10_000}, **settings}
        services = Services(models=FunctionModel(answer), tools=[look], store=kept, settings=chosen)
        services.folder = Path(folder)
        async with Host(services, build_pipelines(services)) as host:
            yield host


async def take(host: Host, text: str, session: str) -> float:
    """Return the processor seconds of a turn."""
    over: asyncio.Queue[str] = asyncio.Queue()

    def hear(event: Any) -> None:
        over.put_nowait(event.name)

    await host.services.store.sessions.get_or_create(session, "bench")
    await host.event_bus.subscribe(session, hear)
    began = time.process_time()
    for _ in range(TURNS):
        await host.accept(RunRequest(text, session, "bench"))
        while await over.get() != "task_completed":
            pass
    took = time.process_time() - began
    host.event_bus.unsubscribe(session, hear)
    return took / TURNS


async def measure(store: str, url: str, text: str) -> None:
    """Print the medians of the variants."""
    variants = {
        "off": {"Traces": {"Enabled": False}},
        "on": {},
        "exported": {"Telemetry": {"Endpoint": url}},
    }
    async with AsyncExitStack() as stack:
        hosts = {name: await stack.enter_async_context(hosted(store, chosen)) for name, chosen in variants.items()}
        found: dict[str, list[float]] = {name: [] for name in hosts}
        for number in range(ROUNDS):
            for name, host in hosts.items():
                gc.collect()
                found[name].append(await take(host, text, f"{number}"))
    base = statistics.median(found["off"])
    for name, times in found.items():
        middle = statistics.median(times)
        more = f"{(middle - base) * 1e6:+8.0f} us ({middle / base - 1:+.1%})" if name != "off" else ""
        print(f"{store.partition(':')[0]:<8}{text:<8}{name:<10}{middle * 1e6:>9,.0f} us {more}")


async def measure_all() -> None:
    """Measure both stores, without and with a tool call."""
    collector = subprocess.Popen([sys.executable, "-c", COLLECTOR], stdout=subprocess.PIPE, text=True)
    try:
        assert collector.stdout is not None
        url = f"http://127.0.0.1:{int(collector.stdout.readline())}"
        for store in ("memory://", "sqlite:///bench.db"):
            for text in ("hello", "look"):
                await measure(store, url, text)
    finally:
        collector.kill()
        collector.wait()


if __name__ == "__main__":
    asyncio.run(measure_all())
