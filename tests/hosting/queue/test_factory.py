"""The queue of the settings, or a clear word: tasks never wait elsewhere than the settings say."""

import pytest

from sophon import Services
from sophon.errors import SettingsError
from sophon_hosting.queue.factory import build_queue
from sophon_hosting.queue.memory import MemoryQueue


async def test_the_queue_in_memory_has_the_capacity_of_the_settings() -> None:
    queue = build_queue(Services(settings={"Queue": {"Capacity": 7}}))
    assert isinstance(queue, MemoryQueue)
    assert (await queue.statistics()).capacity == 7


@pytest.mark.parametrize("backend", ["Redis", "RabbitMQ"])
def test_a_backend_that_is_not_there_is_refused(backend: str) -> None:
    services = Services(settings={"Queue": {"Backend": backend, "Url": "redis://localhost"}})
    with pytest.raises(SettingsError, match=rf"Queue\.Backend: '{backend}' is not supported by this version"):
        build_queue(services)
