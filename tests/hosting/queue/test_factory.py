"""The queue of the settings, or a clear word: tasks never wait elsewhere than the settings say."""

from pathlib import Path

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
    with pytest.raises(SettingsError, match=rf"Queue\.Backend: {backend} is not supported by this version; use Memory"):
        Services(settings={"Queue": {"Backend": backend, "Url": "redis://localhost"}})


def test_a_url_without_a_queue_that_has_one_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"Queue\.Url: only an external queue has a URL"):
        Services(settings={"Queue": {"Url": "redis://localhost"}})


def test_an_installed_queue_plug_in_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    metadata = tmp_path / "fast_queue-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: fast-queue\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[sophon.queues]\nfast = fast_queue:make\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(SettingsError, match="queue plug-ins are not supported by this version: fast"):
        build_queue(Services())
