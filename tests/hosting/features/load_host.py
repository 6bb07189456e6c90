"""A host with the package of docs/own-feature.md, in a process of its own: it prints what it has of it, as JSON.

The features of a process are found once, so the tests' own process would keep those of the package.
"""

import asyncio
import json
from typing import Any

import httpx

from sophon import ModelRequest, Services
from sophon.events import event_type, event_types
from sophon.testing import FunctionModel
from sophon_hosting.events.wire_event import WireEvent
from sophon_hosting.features.registry import load_features
from sophon_hosting.host_server import HostServer, bind_address
from sophon_hosting.operations.client import AsyncClient
from sophon_hosting.store.sql_host_store import SqlHostStore


async def answer(request: ModelRequest) -> str:
    return "hi"


async def visit() -> dict[str, Any]:
    """Start a host, ask it as clients do, and stop it."""
    load_features()
    known = sorted(event_types())
    from sophon_machine_load.feature import LOAD_RECORDER  # type: ignore[import-not-found]
    from sophon_machine_load.operations import get_load  # type: ignore[import-not-found]

    server = HostServer(Services(store=SqlHostStore("memory://"), models=FunctionModel(answer)), {})
    recorder = server.host.feature_services.find(LOAD_RECORDER)
    assert recorder is not None
    running = [recorder.is_running]
    heard: list[WireEvent] = []
    server.host.event_bus.subscribe_all(heard.append, elsewhere=True)
    address = bind_address("127.0.0.1", 0)
    with address.socket:
        await server.start(address)
        try:
            running.append(recorder.is_running)
            async with asyncio.timeout(60):
                while not recorder.samples:  # it measures as soon as its task runs
                    await asyncio.sleep(0)
            async with httpx.AsyncClient(base_url=address.url, trust_env=False, timeout=30) as http:
                answered = await http.get("/api/load")
                tools = (await http.get("/api/tools")).json()["items"]
            async with AsyncClient(address.url, None) as client:
                called = await client.call(get_load)
        finally:
            await server.shutdown(0)
    running.append(recorder.is_running)
    without = Services(
        store=SqlHostStore("memory://"), models=FunctionModel(answer), settings={"Load": {"Enabled": False}}
    )
    return {
        "measured_if_off": HostServer(without, {}).host.feature_services.find(LOAD_RECORDER) is not None,
        "known": known,
        "status": answered.status_code,
        "answer": answered.json(),
        "called": called,
        "tools": [each["name"] for each in tools],
        "running": running,
        "events": [[each.name, event_type(each.name).audience, sorted(each.data)] for each in heard],
    }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(visit())))
