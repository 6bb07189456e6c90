"""Programs of MCP servers end with their connection: all their processes, and the pipes to them."""

import asyncio
import gc
import os
import sys
from pathlib import Path

import pytest

from sophon_hosting.features.mcp.client import server_process
from sophon_hosting.features.mcp.client.server_process import MARKER, ServerProcess, find_marked, kill_marked

DETACHES = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; print('ready', flush=True); time.sleep(1000)"],
                         start_new_session=True)
sys.stdin.read()
"""
"""A program that ends with its input, but leaves a process that holds its output, in a session of its own."""

ENVIRONMENT = {"PATH": os.environ["PATH"]}

pytestmark = pytest.mark.anyio


async def start(code: str) -> ServerProcess:
    return await ServerProcess.start([sys.executable, "-c", code], ENVIRONMENT, None)


async def test_a_process_in_a_session_of_its_own_ends_with_the_server(caplog: pytest.LogCaptureFixture) -> None:
    process = await start(DETACHES)
    assert b"ready" in await process.read()
    own = find_marked(process._marker)
    assert len(own) == 2
    await process.stop()
    assert find_marked(process._marker) == []
    assert "had left its process group" in caplog.text


async def test_without_the_marker_it_would_outlive_the_server(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    process = await start(DETACHES)
    assert b"ready" in await process.read()
    monkeypatch.setattr(server_process, "kill_marked", lambda _: 0)
    await process.stop()
    assert len(find_marked(process._marker)) == 1
    assert kill_marked(process._marker) == 1
    assert caplog.text == ""


async def test_its_pipes_are_closed_even_if_a_process_still_holds_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_process, "kill_marked", lambda _: 0)
    process = await start(DETACHES)
    assert b"ready" in await process.read()
    opened = len(list(Path("/proc/self/fd").iterdir()))
    marker = process._marker
    await process.stop()
    assert len(list(Path("/proc/self/fd").iterdir())) < opened
    del process
    gc.collect()  # an unclosed transport would warn here, and a warning is an error
    kill_marked(marker)


async def test_a_server_that_reads_nothing_holds_neither_its_end_nor_its_pipe() -> None:
    process = await start("import time; time.sleep(1000)")
    writing = asyncio.create_task(process.write(b"x" * 10_000_000))
    await asyncio.sleep(0)
    await process.stop()
    with pytest.raises(OSError):
        await writing


async def test_a_program_that_cannot_be_started_leaves_no_pipe_open() -> None:
    opened = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(FileNotFoundError):
        await ServerProcess.start(["/no/such/program"], ENVIRONMENT, None)
    await asyncio.sleep(0)
    assert len(list(Path("/proc/self/fd").iterdir())) <= opened


async def test_only_processes_with_exactly_this_marker_are_found() -> None:
    one, other = await start("input()"), await start("input()")
    assert find_marked(one._marker) == [one.pid]
    assert find_marked(one._marker[:-1]) == []
    await one.stop()
    assert find_marked(other._marker) == [other.pid]
    await other.stop()
    assert MARKER not in os.environ
