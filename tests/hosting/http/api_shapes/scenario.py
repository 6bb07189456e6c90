"""Scenario that calls every route of the API and every Socket.IO event of a whole host, and records the answers."""

from pathlib import Path

from tests.hosting.features.settings.conftest import serve_provider
from tests.hosting.http.api_shapes import clients, conversations, features, fields, operations
from tests.hosting.http.api_shapes.served import Served, serve


async def play(folder: Path) -> Served:
    """Play the scenario with a host in an empty folder, and return what was served."""
    async with serve(folder) as served, serve_provider() as provider:
        await conversations.call_all(served)
        await features.call_all(served)
        await clients.call_all(served)
        await operations.call_all(served)
        await fields.call_all(served)
        await operations.call_setup(served, provider)
    return served
