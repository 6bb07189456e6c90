"""Runner for a program in a sandbox: bubblewrap with limits on memory, processes, time and output."""

import asyncio
import contextlib
import json
import os
import signal
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import IO

import anyio
import anyio.to_thread

from sophon.errors import ToolError
from sophon.processes.bounded_pipe import STDERR_LIMIT, STDOUT_LIMIT, BoundedPipeReader, PipeReader, wait_until_closed
from sophon.processes.command_result import CommandResult
from sophon.processes.command_runner import open_input
from sophon.processes.memory_cap import MemoryGroup
from sophon.processes.process_cap import COUNTED_KERNEL, SPARE_PROCESSES, ProcessGroup, parse_release
from sophon.processes.resource_usage import TreeUsage, measure_tree
from sophon.processes.sandbox_policy import (
    Sandbox,
    SandboxLimits,
    SandboxPolicy,
    build_arguments,
    read_system_links,
)

POLL_SECONDS = 0.05
"""Time between two measurements of what a program uses."""

FOLDER_POLL_SECONDS = 0.2
"""Time between two measurements of the working folder, if these take less than a tenth of it."""

SPARE_FILE_BYTES = 1024 * 1024
"""By how much a single file may exceed the limit of the folder, so that the measurement sees the excess."""

FILE_TOO_LARGE = 128 + signal.SIGXFSZ
"""Exit code of a program that has written more to a file than it may."""

START_SECONDS = 1.0
"""Time in which a first process that takes no limits must prove to have ended."""

END_SECONDS = 5.0
"""Time to wait for the end of the processes of a sandbox that was killed; the kernel ends them at once."""

MIN_ENTRY_BYTES = 4096
"""What an entry counts for at least: an empty file takes room as well."""

BLOCK_BYTES = 512
"""Unit of `st_blocks`, on every file system."""

UNREADABLE = 2**63
"""Size of a folder with a part that cannot be read: a program could hide files there."""

MAX_STATUS_BYTES = 16_384
"""Bytes of status that are kept; bubblewrap writes about 250."""


async def run_in_sandbox(
    sandbox: Sandbox,
    program: Sequence[str],
    policy: SandboxPolicy,
    environment: Mapping[str, str],
    *,
    stdin: bytes = b"",
    kept: tuple[int, int] = (STDOUT_LIMIT, STDERR_LIMIT),
) -> CommandResult:
    """Run a program with its arguments in a sandbox, and wait for its end.

    It has `stdin` as its input, no open file of this process, and exactly the variables of `environment`. At its end,
    at a limit, a timeout or a cancellation all processes that it started are killed, whatever they did to detach
    themselves; the result of a program that has reached a limit says which (`stopped`). `kept` are the bytes kept of
    stdout and stderr. Raises ToolError if the sandbox cannot be set up: nothing runs without it.
    """
    try:
        stdout, stderr = await BoundedPipeReader(kept[0]).open(), await BoundedPipeReader(kept[1]).open()
        status = await SandboxStatus().open()
        try:
            run = _SandboxRun(policy, stdout, stderr, status)
            with open_input(stdin) as file:
                stopped = await run.start(sandbox, program, environment, file)
            await wait_until_closed(stdout, stderr)
        finally:
            for each in (stdout, stderr, status):
                each.close()
    except (OSError, ValueError, NotImplementedError) as error:
        raise ToolError(f"the sandbox could not be started: {error}") from error
    code = status.exit_code
    if code is None and not stopped:
        raise ToolError(f"the sandbox could not be started: {stderr.text().strip() or 'it ended without a reason'}")
    if code == FILE_TOO_LARGE and not stopped:
        stopped = describe_folder_excess(policy.limits)
    return CommandResult(-signal.SIGKILL if code is None else code, stdout.text(), stderr.text(), stopped)


class SandboxStatus(PipeReader):
    """Read end of the pipe for `--json-status-fd`.

    `child` resolves to the id of the sandbox's first process, or None if the sandbox could not be set up.
    """

    def __init__(self) -> None:
        super().__init__()
        self.child: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()
        self._content = bytearray()

    def data_received(self, data: bytes) -> None:
        if len(self._content) < MAX_STATUS_BYTES:
            self._content += data
        child = self._find("child-pid")
        if child is not None and not self.child.done():
            self.child.set_result(child)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if not self.child.done():
            self.child.set_result(None)

    @property
    def exit_code(self) -> int | None:
        """Exit code of the program, 128 and the signal's number if one ended it; None if it never began."""
        return self._find("exit-code")

    def _find(self, name: str) -> int | None:
        return find_number(self._content.decode(errors="replace"), name)


class _SandboxRun:
    """One run of bubblewrap: its pipes, and the limits that are watched while it runs."""

    def __init__(
        self, policy: SandboxPolicy, stdout: BoundedPipeReader, stderr: BoundedPipeReader, status: SandboxStatus
    ) -> None:
        self._policy, self._limits = policy, policy.limits
        self._stdout, self._stderr, self._status = stdout, stderr, status
        self._memory: MemoryGroup | None = None

    async def start(
        self,
        sandbox: Sandbox,
        program: Sequence[str],
        environment: Mapping[str, str],
        stdin: IO[bytes],
    ) -> str:
        """Start the program once its limits are set, wait for its end, and return which limit it has reached, or ""."""
        policy, held = self._policy, await self._measure_folder(self._limits.folder_bytes)
        blocked, release = os.pipe()
        process, child, group = None, None, None
        try:
            status_end = self._status.write_end
            arguments = build_arguments(policy, read_system_links(), sandbox.options)
            arguments += ["--json-status-fd", str(status_end), "--block-fd", str(blocked), "--", *program]
            process = await asyncio.create_subprocess_exec(
                sandbox.program,
                *arguments,
                stdin=stdin,
                stdout=self._stdout.write_end,
                stderr=self._stderr.write_end,
                env=dict(environment),
                pass_fds=[blocked, *([] if status_end is None else [status_end])],
                start_new_session=True,
            )
            for each in (self._stdout, self._stderr, self._status):
                each.close_write_end()
            first = await self._status.child
            if first is not None:
                with contextlib.suppress(ProcessLookupError):  # it has failed before it waits for `release`
                    child = os.pidfd_open(first)
            if first is not None and child is not None:
                if sandbox.group_folder is not None:
                    group = ProcessGroup(sandbox.group_folder, self._limits.processes + SPARE_PROCESSES)
                if sandbox.memory_folder is not None:
                    own = group.path if group is not None and sandbox.memory_folder == sandbox.group_folder else None
                    self._memory = MemoryGroup(sandbox.memory_folder, self._limits.total_memory_bytes, own)
                # In a folder that is full already a program may still delete files.
                room = self._limits.folder_bytes + SPARE_FILE_BYTES if held <= self._limits.folder_bytes else 0
                groups = [each for each in (group, self._memory) if each]
                if await _set_limits(first, child, self._limits, room, groups):
                    os.write(release, b"x")
            return await self._watch(process, held)
        finally:
            os.close(blocked)
            os.close(release)
            with anyio.CancelScope(shield=True):
                await _end(process, child)
                for made in (self._memory, group):
                    if made is not None:
                        await anyio.to_thread.run_sync(made.remove)

    async def _watch(self, process: asyncio.subprocess.Process, held: int) -> str:
        """Watch the limits until the end; `held` is the size of the folder before."""
        started, ended = time.monotonic(), asyncio.ensure_future(process.wait())
        most, next_look = max(self._limits.folder_bytes, held), started
        try:
            while not ended.done():
                await asyncio.wait([ended], timeout=POLL_SECONDS)
                usage = await anyio.to_thread.run_sync(measure_usage, process.pid, self._limits)
                stopped = find_excess(self._limits, usage, time.monotonic() - started)
                if stopped and not ended.done():
                    return stopped
                if self._find_kernel_excess() or self._find_output_excess():
                    break
                if (looked := time.monotonic()) >= next_look:
                    if await self._measure_folder(most) > most:
                        break
                    now = time.monotonic()
                    next_look = now + max(FOLDER_POLL_SECONDS, 10 * (now - looked))
            found = self._find_kernel_excess() or self._find_output_excess()
            if not found and await self._measure_folder(most) > most:
                return describe_folder_excess(self._limits)
            return found
        finally:
            ended.cancel()

    async def _measure_folder(self, most: int) -> int:
        return await anyio.to_thread.run_sync(measure_folder, self._policy.folder, most, self._policy.hidden)

    def _find_kernel_excess(self) -> str:
        """Return the sentence on a process that the kernel has killed for its memory: the others end with it."""
        if self._memory is None or not self._memory.has_killed():
            return ""
        return describe_memory_excess(self._limits)

    def _find_output_excess(self) -> str:
        written, limit = self._stdout.total_bytes + self._stderr.total_bytes, self._limits.output_bytes
        return f"it wrote more than {limit // 1024} KB" if written > limit else ""


def measure_usage(process: int, limits: SandboxLimits) -> TreeUsage:
    """Measure what the sandbox of this process of bubblewrap uses. Its own first process is not counted."""
    usage = measure_tree(process, max_threads=limits.processes + 1, max_memory_bytes=limits.memory_bytes)
    return TreeUsage(usage.threads - 1, usage.memory_bytes)


def find_excess(limits: SandboxLimits, usage: TreeUsage, seconds: float) -> str:
    """Return the sentence on the limit that was exceeded, or ""."""
    if usage.threads > limits.processes:
        return f"it had more than {limits.processes} processes and threads"
    if usage.memory_bytes > limits.memory_bytes:
        return describe_memory_excess(limits)
    return f"it ran for more than {limits.seconds:g} seconds" if seconds > limits.seconds else ""


def describe_memory_excess(limits: SandboxLimits) -> str:
    """Return the sentence on memory."""
    return f"it used more than {limits.memory_bytes // (1024 * 1024)} MB of memory"


def describe_folder_excess(limits: SandboxLimits) -> str:
    """Return the sentence on the working folder."""
    return f"its files folder would hold more than {limits.folder_bytes // (1024 * 1024)} MB; delete files first"


async def _set_limits(
    process: int, child: int, limits: SandboxLimits, file_bytes: int, groups: Sequence[ProcessGroup | MemoryGroup]
) -> bool:
    """Set all limits on the first process. Return False if it has ended: bubblewrap says why. Raises if one fails."""
    try:
        set_process_limits(process, limits, file_bytes)
        for group in groups:
            group.add(process)
    except (OSError, ToolError):
        if await _wait_for_end(child, START_SECONDS):
            return False
        raise
    return True


def set_process_limits(process: int, limits: SandboxLimits, file_bytes: int) -> None:
    """Set the limits that hold for single processes, and for processes faster than the next measurement.

    A process may reserve twice the memory that all may use: programs reserve stacks and heaps that they never touch.
    """
    import resource  # lazy: it exists on Unix only

    memory, seconds = 2 * limits.memory_bytes, max(1, round(limits.seconds * (os.cpu_count() or 1)))
    values = {resource.RLIMIT_CORE: 0, resource.RLIMIT_DATA: memory, resource.RLIMIT_CPU: seconds}
    values[resource.RLIMIT_FSIZE] = file_bytes
    if parse_release(os.uname().release) >= COUNTED_KERNEL:
        values[resource.RLIMIT_NPROC] = limits.processes + SPARE_PROCESSES
    for kind, value in values.items():
        resource.prlimit(process, kind, (value, value))


async def _end(process: asyncio.subprocess.Process | None, child: int | None) -> None:
    """Kill what is left of a run. The end of the sandbox's first process is the end of all processes in it."""
    if child is not None:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(child, signal.SIGKILL)
    if process is not None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    if child is not None:
        await _wait_for_end(child, END_SECONDS)
        os.close(child)


async def _wait_for_end(child: int, seconds: float) -> bool:
    """Return whether the first process ends in time, with all others; its descriptor is readable then."""
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(child, ended.set)
    try:
        with anyio.move_on_after(seconds):
            await ended.wait()
    finally:
        loop.remove_reader(child)
    return ended.is_set()


def measure_folder(folder: Path, max_bytes: int, hidden: Collection[Path] = ()) -> int:
    """Return the bytes on disk of all that is in a folder, without the folders in `hidden`; blocks.

    Counting ends above `max_bytes`. Links are not followed, and what is deleted meanwhile counts for nothing.
    """
    total, todo, left_out = 0, [str(folder)], set(map(str, hidden))
    while todo and total <= max_bytes:
        try:
            with os.scandir(todo.pop()) as entries:
                for entry in entries:
                    total += max(entry.stat(follow_symlinks=False).st_blocks * BLOCK_BYTES, MIN_ENTRY_BYTES)
                    if entry.is_dir(follow_symlinks=False) and entry.path not in left_out:
                        todo.append(entry.path)
                    if total > max_bytes:
                        break
        except FileNotFoundError:
            continue
        except OSError:
            return UNREADABLE
    return total


def find_number(text: str, name: str) -> int | None:
    """Return a number of a status: JSON objects, one after the other; None if it is not there, or not yet complete."""
    decoder, position = json.JSONDecoder(), 0
    while (start := text.find("{", position)) >= 0:
        try:
            found, position = decoder.raw_decode(text, start)
        except ValueError:
            return None
        value: object = found.get(name)
        if isinstance(value, int):
            return value
    return None
