"""The allocator of this process: what is set, what it says of itself, and that other systems have nothing to set."""

import ctypes
import platform
import subprocess
import sys

import pytest

from sophon_hosting.process_memory import allocator
from sophon_hosting.process_memory.allocator import (
    MALLOPT_OPTIONS,
    load_allocator,
    read_resident_bytes,
    select_options,
)

ALL = dict(MALLOPT_OPTIONS.values())
IS_GLIBC = platform.libc_ver()[0] == "glibc"


@pytest.mark.parametrize(
    ("environment", "left_alone"),
    [
        ({}, set()),
        ({"MALLOC_ARENA_MAX": "8"}, {-8}),
        ({"MALLOC_MMAP_THRESHOLD_": "1", "MALLOC_TRIM_THRESHOLD_": "1"}, {-3, -1}),
        ({"GLIBC_TUNABLES": "glibc.malloc.arena_max=1"}, {-8, -3, -1}),
        ({"GLIBC_TUNABLES": "glibc.rtld.optional_static_tls=512"}, set()),
    ],
)
def test_what_the_operator_has_set_stays(environment: dict[str, str], left_alone: set[int]) -> None:
    assert select_options(environment) == {key: value for key, value in ALL.items() if key not in left_alone}


def test_another_system_has_nothing_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert load_allocator() is None


def test_another_c_library_has_nothing_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    class Musl:
        def __init__(self, _name: object) -> None:
            pass

    monkeypatch.setattr(ctypes, "CDLL", Musl)
    assert load_allocator() is None
    allocator.configure_allocator({})


def test_a_system_that_tells_no_resident_memory_is_no_error(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    monkeypatch.setattr(allocator, "RESIDENT_FILE", tmp_path / "missing")
    assert read_resident_bytes() == 0


@pytest.mark.skipif(not IS_GLIBC, reason="glibc only")
def test_a_freed_text_leaves_no_slack_behind_once_a_larger_one_was_freed() -> None:
    # In a process of its own: it counts what is free in the heaps after texts of 300 kB were freed in disorder.
    program = """
import sys
from sophon_hosting.process_memory.allocator import configure_allocator, load_allocator
allocator = load_allocator()
if sys.argv[1] == "configured":
    configure_allocator({})
large = bytes(2_000_000)
del large  # glibc would raise the threshold of its mappings to this size
texts = [bytes(300_000 + number) for number in range(100)]
kept = [bytes(1000) for _ in range(10)]
free = allocator.read_free_bytes()
del texts[::2]
print(allocator.read_free_bytes() - free)
"""
    slack = {}
    for how in ("configured", "default"):
        environment = {"PATH": "", "PYTHONPATH": ":".join(sys.path)}
        done = subprocess.run(
            [sys.executable, "-c", program, how], capture_output=True, text=True, check=True, env=environment
        )
        slack[how] = int(done.stdout)
    assert slack["default"] > 10_000_000
    assert slack["configured"] < 1_000_000


@pytest.mark.skipif(not IS_GLIBC, reason="glibc only")
def test_a_trim_and_the_statistics_work_with_the_real_library() -> None:
    found = load_allocator()
    assert found is not None
    found.trim()
    free = found.read_free_bytes()
    assert free is None or 0 < free < read_resident_bytes() * 1000
