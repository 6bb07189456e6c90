"""The list of sessions over HTTP, on SQLite: `python -m tests.bench.session_lists 10000`.

Minimum CPU time of client and host together. To compare with an earlier version, run it with that version's packages
in `PYTHONPATH`.
"""

import asyncio
import sys
import tempfile
import time
from pathlib import Path

import httpx

from sophon import Services
from sophon.stores.sql_store import SqlStore
from sophon_hosting.host_server import HostServer, bind_address

REPETITIONS = 15
QUERIES = ("", "&q=tea", "&q=unknown")


async def main(count: int) -> None:
    """Fill a store, and print the time of each query."""
    with tempfile.TemporaryDirectory() as folder:
        store = SqlStore("sqlite:///lists.db", folder=Path(folder))
        host = HostServer(Services(store=store), {})
        address = bind_address("127.0.0.1", 0)
        await host.start(address)
        for number in range(count):
            await store.sessions.get_or_create(f"s{number}", "local")
            await store.sessions.rename(f"s{number}", f"{number} about {'coffee' if number % 200 else 'tea'}")
        async with httpx.AsyncClient(base_url=address.url, trust_env=False, timeout=60) as http:
            for query in QUERIES:
                print(await measure(http, f"/api/sessions?limit=100{query}"))
        await host.shutdown(0)


async def measure(http: httpx.AsyncClient, path: str) -> str:
    """Return the number of items and the least CPU time of a request, as text."""
    best, items = float("inf"), 0
    for _ in range(REPETITIONS):
        began = time.process_time()
        response = await http.get(path)
        best = min(best, time.process_time() - began)
        items = len(response.json()["items"])
    return f"{path}: {items} items, {best * 1000:.1f} ms"


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
