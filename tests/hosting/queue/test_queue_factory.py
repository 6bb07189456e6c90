"""The queue of the settings, or a clear word: tasks never wait elsewhere than the settings say."""

from pathlib import Path

import pytest

from sophon import Services
from sophon.errors import SettingsError
from sophon_hosting.queue.in_memory import MemoryQueue
from sophon_hosting.queue.queue_factory import build_queue


async def test_the_queue_in_memory_has_the_capacity_of_the_settings() -> None:
    queue = build_queue(Services(settings={"Queue": {"Capacity": 7}}))
    assert isinstance(queue, MemoryQueue)
    assert (await queue.statistics()).capacity == 7


@pytest.mark.parametrize("backend", ["Redis", "RabbitMq", "rabbitmq"])
def test_a_backend_without_the_url_of_its_server_is_refused(backend: str) -> None:
    with pytest.raises(SettingsError, match=r"Queue\.Url: the backend (Redis|RabbitMq) needs the URL of its server"):
        Services(settings={"Queue": {"Backend": backend}})


def test_a_url_without_a_queue_that_has_one_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"Queue\.Url: a queue in memory has no URL"):
        Services(settings={"Queue": {"Url": "redis://localhost"}})


def test_a_lease_that_a_slow_worker_would_lose_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"Queue\.Lease: a lease must be at least 1 s"):
        Services(settings={"Queue": {"Lease": "00:00:00.5"}})


def test_a_backend_that_is_not_there_is_refused() -> None:
    with pytest.raises(SettingsError, match="there is no queue 'Kafka'; there are Memory, Redis, RabbitMq, Postgres"):
        build_queue(Services(settings={"Queue": {"Backend": "Kafka"}}))


def test_an_installed_queue_is_built_with_the_services(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    metadata = tmp_path / "fast_queue-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: fast-queue\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[sophon.queues]\nfast = fast_queue:make\n")
    (tmp_path / "fast_queue.py").write_text(
        "from sophon_hosting.queue.in_memory import MemoryQueue\n"
        "from sophon_hosting.settings.queue import QueueSettings\n"
        "def make(services, owner_share):\n"
        "    return MemoryQueue(services.settings.section(QueueSettings).capacity, owner_share=owner_share)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert isinstance(build_queue(Services(settings={"Queue": {"Backend": "fast"}})), MemoryQueue)
