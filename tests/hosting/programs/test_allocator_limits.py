"""Limits of the allocator: what is set, what the operator has set stays, and other systems have nothing to set."""

import ctypes
import platform
import subprocess
import sys

import pytest

from sophon_hosting.programs.allocator_limits import MALLOPT_OPTIONS, limit_allocator, select_options

ALL = dict(MALLOPT_OPTIONS.values())
IS_GLIBC = platform.libc_ver()[0] == "glibc"


LEFT_ALONE: list[tuple[dict[str, str], set[int]]] = [
    ({}, set()),
    ({"MALLOC_ARENA_MAX": "8"}, {-8}),
    ({"MALLOC_MMAP_THRESHOLD_": "1", "MALLOC_TRIM_THRESHOLD_": "1"}, {-3, -1}),
    ({"GLIBC_TUNABLES": "glibc.malloc.arena_max=1"}, {-8, -3, -1}),
    ({"GLIBC_TUNABLES": "glibc.rtld.optional_static_tls=512"}, set()),
]


@pytest.mark.parametrize(("environment", "left_alone"), LEFT_ALONE)
def test_what_the_operator_has_set_stays(environment: dict[str, str], left_alone: set[int]) -> None:
    assert select_options(environment) == {key: value for key, value in ALL.items() if key not in left_alone}


class NoMallopt:
    """A C library without mallopt, such as musl."""

    def __init__(self, _name: object) -> None:
        pass


@pytest.mark.parametrize("system", ["linux", "darwin"])
def test_another_system_or_c_library_has_nothing_to_set(monkeypatch: pytest.MonkeyPatch, system: str) -> None:
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(ctypes, "CDLL", NoMallopt)
    limit_allocator({})


@pytest.mark.skipif(not IS_GLIBC, reason="glibc only")
def test_freed_texts_leave_the_process_although_a_larger_one_was_freed() -> None:
    # In a process of its own: it counts what stays resident after texts of 300 kB were freed in disorder.
    program = """
import sys
from sophon_hosting.programs.allocator_limits import limit_allocator
if sys.argv[1] == "limited":
    limit_allocator({})
def resident():
    return int(open("/proc/self/status").read().split("VmRSS:")[1].split()[0]) * 1024
before = resident()
large = b"x" * 2_000_000
del large  # glibc would raise the threshold of its mappings to this size
texts = [b"x" * (300_000 + number) for number in range(100)]
del texts[::2], texts[:-1]
print(resident() - before)
"""
    kept = {}
    for how in ("limited", "default"):
        environment = {"PATH": "", "PYTHONPATH": ":".join(sys.path)}
        done = subprocess.run(
            [sys.executable, "-c", program, how], capture_output=True, text=True, check=True, env=environment
        )
        kept[how] = int(done.stdout)
    assert kept["default"] > 10_000_000
    assert kept["limited"] < 2_000_000
