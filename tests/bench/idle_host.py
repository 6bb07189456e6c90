"""An idle host with turns that wait for people, on SQLite: `python -m tests.bench.idle_host 1080`.

Prints the CPU time of the process, the statements that it executes, and the rows that the reconciler reads.
"""

import asyncio
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
from sqlalchemy import Connection, Engine, event

from sophon import ModelRequest, ModelResponse, Risk, Services, ToolCall, tool
from sophon.stores.sql_store import SqlStore
from sophon.testing import FunctionModel
from sophon_hosting.host_server import HostServer, bind_address
from sophon_hosting.runs.reconciler import RECONCILE_INTERVAL_SECONDS

PASSES = 6
SETTINGS = {
    "Planning": {"Mode": "Never"},
    "AgentExecution": {"Titles": False, "MaxConcurrentTasks": 8},
    "Queue": {"Capacity": 10_000},
    "Approval": {"Timeout": "10:00:00", "OnTimeout": "Park"},
}


@tool(risk=Risk.HIGH)
async def pay(to: str) -> str:
    """Pay somebody."""
    return f"paid {to}"


async def call_pay(request: ModelRequest) -> ModelResponse:
    """Call the tool that needs an approval."""
    return ModelResponse("", [ToolCall("c", "pay", {"to": "Bob"})])


async def suspend(url: str, store: SqlStore, count: int) -> None:
    """Send messages whose turns wait for an approval, and wait until all do."""
    async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=60) as http:
        for number in range(count):
            body = {"content": "Pay Bob", "session_id": f"s{number}"}
            (await http.post("/api/tasks", json=body)).raise_for_status()
    while len(await store.runs.list(status="suspended", limit=count, whole=False)) < count:
        await asyncio.sleep(0.5)
    await asyncio.sleep(2 * RECONCILE_INTERVAL_SECONDS)  # what follows the suspensions ends


async def measure(store: SqlStore, count: int) -> None:
    """Print what the host does while nothing happens, beside the read of all that waits."""
    executed: Counter[str] = Counter()

    def record(_connection: Connection, _cursor: Any, statement: str, *_: Any) -> None:
        executed[" ".join(statement.split())] += 1

    event.listen(Engine, "before_cursor_execute", record)
    began, cpu = time.monotonic(), time.process_time()
    await asyncio.sleep(PASSES * RECONCILE_INTERVAL_SECONDS)
    share = (time.process_time() - cpu) / (time.monotonic() - began)
    event.remove(Engine, "before_cursor_execute", record)
    print(f"{count} waiting turns: {share:.2%} of a core; {sum(executed.values())} statements")
    for statement, times in executed.most_common():
        print(f"{times:>5} x {statement[:110]}")
    print(f"rows that the reconciler reads: {len(await store.runs.list_pending())}")
    cpu = time.process_time()
    found = await store.runs.list(status="suspended", limit=max(count, 1))
    print(f"all that wait, with checkpoints: {len(found)} rows, {(time.process_time() - cpu) * 1000:.0f} ms CPU")


async def main(count: int) -> None:
    """Start a host, fill it, and measure."""
    with tempfile.TemporaryDirectory() as folder:
        store = SqlStore("sqlite:///idle.db", folder=Path(folder))
        model = FunctionModel(call_pay)
        host = HostServer(Services(models=model, tools=[pay], store=store, settings=SETTINGS), {})
        address = bind_address("127.0.0.1", 0)
        await host.start(address)
        try:
            await suspend(address.url, store, count)
            await measure(store, count)
        finally:
            await host.shutdown(0)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
