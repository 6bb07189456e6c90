"""Which processes may start: tasks of a shared queue need a store that those who take them can read."""

from pathlib import Path

import pytest

from sophon.errors import SettingsError
from sophon.settings import Settings
from sophon_hosting.leadership.membership import check_role
from sophon_hosting.store.factory import host_store_from_url
from tests.shared_memory_queue import SharedMemoryBroker, SharedMemoryQueue

POSTGRES = "postgresql://db.example/sophon"


class OwnQueue:
    is_shared = False


def problems(folder: Path, url: str, *, shares: bool, runs_turns: bool = True) -> list[str]:
    settings = Settings.from_mapping({"Store": {"Url": url}})
    store = host_store_from_url(url, folder=folder)
    queue = SharedMemoryQueue(SharedMemoryBroker(None)) if shares else OwnQueue()  # type: ignore[arg-type]
    try:
        check_role(settings, store, queue, runs_turns=runs_turns)
    except SettingsError as error:
        return [problem.partition(":")[0] for problem in error.problems]
    return []


@pytest.mark.parametrize("runs_turns", [True, False])
@pytest.mark.parametrize("url", ["sqlite:///host.db", "memory://"])
def test_a_shared_queue_is_refused_with_a_store_of_one_process(tmp_path: Path, url: str, runs_turns: bool) -> None:
    assert problems(tmp_path, url, shares=True, runs_turns=runs_turns) == ["Store.Url"]


def test_a_host_without_a_worker_is_told_what_is_at_fault(tmp_path: Path) -> None:
    assert problems(tmp_path, POSTGRES, shares=False, runs_turns=False) == ["Queue.Backend"]
    assert problems(tmp_path, "memory://", shares=False, runs_turns=False) == ["Queue.Backend", "Store.Url"]


def test_a_host_alone_and_a_group_on_postgresql_may_start(tmp_path: Path) -> None:
    assert problems(tmp_path, "memory://", shares=False) == []
    assert (
        problems(tmp_path, POSTGRES, shares=True) == problems(tmp_path, POSTGRES, shares=True, runs_turns=False) == []
    )
