"""Cap on processes: which accounts the kernel limits by itself, and where a control group can be created."""

import os
from pathlib import Path

import pytest

from sophon.errors import ToolError
from sophon.processes import sandbox_probe
from sophon.processes.memory_cap import MemoryGroup, find_memory_folder
from sophon.processes.process_cap import (
    NO_CAP,
    ProcessGroup,
    find_group_folder,
    is_capped_by_rlimit,
    list_candidates,
    needs_group,
)
from sophon.processes.sandbox_probe import probe_sandbox
from tests.bubblewrap import require_sandbox
from tests.tables import table

EVERYBODY = "         0          0 4294967295\n"


@table(
    ("uid", "uid_map", "release", "capped"),
    [
        (1000, EVERYBODY, "6.8.0-45-generic", True),
        (1000, EVERYBODY, "5.14.0", True),
        (1000, EVERYBODY, "5.13.19", False),
        (1000, EVERYBODY, "4.4.0", False),
        (0, EVERYBODY, "6.8.0", False),
        (1000, "1000 0 1\n", "6.8.0", False),
        (0, "0 100000 65536\n", "6.8.0", False),
        (1000, "0 100000 65536\n", "6.8.0", True),
        (65534, "0 1000 1\n", "6.8.0", False),
        (1000, "", "6.8.0", False),
        (1000, EVERYBODY, "strange", False),
    ],
)
def test_the_kernel_caps_accounts_that_are_root_nowhere(uid: int, uid_map: str, release: str, capped: bool) -> None:
    assert is_capped_by_rlimit(uid, uid_map, release) is capped


@pytest.mark.parametrize(
    ("membership", "delegating", "found"),
    [
        ("8:pids:/a/b\n0::/", [], ["pids/a/b"]),
        ("4:cpu,pids:/\n", [], ["pids"]),
        ("0::/system.slice/host.service\n", ["system.slice", ""], ["system.slice", ""]),
        ("0::/user.slice\n", ["user.slice"], ["user.slice"]),
        ("0::/../../else\n", [""], [""]),
        ("0::/system.slice/host.service\n", [], []),
        ("", [""], []),
    ],
)
def test_the_nearest_groups_that_count_processes_are_tried_first(
    tmp_path: Path, membership: str, delegating: list[str], found: list[str]
) -> None:
    for each in ("system.slice/host.service", "user.slice", "unified"):
        (tmp_path / each).mkdir(parents=True)
    for each in delegating:
        (tmp_path / each / "cgroup.subtree_control").write_text("cpu memory pids\n")
    assert list(list_candidates(membership, tmp_path)) == [tmp_path / each for each in found]


def test_a_folder_that_is_no_control_group_has_no_effect_and_is_said(tmp_path: Path) -> None:
    (tmp_path / "pids").mkdir()
    with pytest.raises(ToolError, match=r"the number of processes cannot be limited: .*pids.max does not exist"):
        ProcessGroup(tmp_path / "pids", 5)
    assert find_group_folder("8:pids:/\n", tmp_path) is None
    assert list((tmp_path / "pids").iterdir()) == []


def test_a_group_of_version_2_has_both_limits_and_one_that_has_another_folder_has_none(tmp_path: Path) -> None:
    own = tmp_path / "sophon"
    own.mkdir()
    for name, text in {"memory.max": "max", "memory.swap.max": "max", "memory.events": "oom 1\noom_kill 0\n"}.items():
        (own / name).write_text(text)
    group = MemoryGroup(tmp_path, 5_000_000, own)
    assert ((own / "memory.max").read_text(), (own / "memory.swap.max").read_text()) == ("4997120", "0")
    assert not group.has_killed()
    (own / "memory.events").write_text("oom 1\noom_kill 1\n")
    assert group.has_killed()

    (tmp_path / "cgroup.subtree_control").write_text("memory pids\n")
    (tmp_path / "cgroup.controllers").write_text("memory pids\n")
    assert find_memory_folder("0::/\n", tmp_path / "other", tmp_path) is None
    with pytest.raises(ToolError, match=r"the memory cannot be limited: .*memory.max does not exist"):
        MemoryGroup(tmp_path, 5_000_000)
    assert not list(tmp_path.glob("sophon-memory-*"))


async def test_without_a_cap_there_is_no_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    await require_sandbox()
    monkeypatch.setattr(sandbox_probe, "needs_group", lambda: True)
    monkeypatch.setattr(sandbox_probe, "find_group_folder", lambda membership: None)
    monkeypatch.setattr(sandbox_probe, "_PROBED", {})
    assert (await probe_sandbox("bwrap")).problem == NO_CAP


async def test_the_sandbox_of_root_has_a_group_that_is_removed_after_each_run() -> None:
    folder = (await require_sandbox()).group_folder
    assert (folder is not None) is needs_group()
    assert folder is None or list(folder.glob(f"sophon-{os.getpid()}-*")) == []
    memory = (await require_sandbox()).memory_folder
    assert memory is None or list(memory.glob(f"sophon-memory-{os.getpid()}-*")) == []
