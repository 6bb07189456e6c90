"""Runner for a program with the rights of the host: bounded output, and its process group is killed at the end."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

import anyio
import anyio.to_thread

from sophon.errors import ToolError
from sophon.private_files import make_private_folder
from sophon.processes.bounded_pipe import STDERR_LIMIT, STDOUT_LIMIT, BoundedPipeReader, wait_until_closed
from sophon.processes.command_result import CommandResult
from sophon.processes.program_input import open_input

SHELL = "/bin/sh"
"""Shell of commands."""


async def run_unconfined(
    program: Sequence[str], folder: Path, environment: Mapping[str, str], *, stdin: bytes = b""
) -> CommandResult:
    """Run a program with its arguments in `folder`, which is created if missing, and wait for its end.

    The program has its own session, `stdin` as its input, no open file of this process, and exactly the variables of
    `environment`; no process in between inherits more. At the end of the call, also at a timeout or cancellation, every
    process of the group is killed, including background processes, and reaped. A process that starts its own session is
    not killed. Raises ToolError if the program cannot be started.
    """
    try:
        await anyio.to_thread.run_sync(make_private_folder, folder)
        stdout, stderr = await BoundedPipeReader.open(STDOUT_LIMIT), await BoundedPipeReader.open(STDERR_LIMIT)
        try:
            with open_input(stdin) as file:
                code = await _run_process(program, folder, environment, file, stdout, stderr)
            await wait_until_closed(stdout, stderr)
        finally:
            stdout.close()
            stderr.close()
    except (OSError, ValueError, NotImplementedError) as error:
        raise ToolError(f"the command could not be started: {error}") from error
    return CommandResult(code, stdout.text(), stderr.text())


async def _run_process(
    program: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    stdin: IO[bytes],
    stdout: BoundedPipeReader,
    stderr: BoundedPipeReader,
) -> int:
    process = await asyncio.create_subprocess_exec(
        *program,
        stdin=stdin,
        stdout=stdout.write_end,
        stderr=stderr.write_end,
        cwd=folder,
        env=dict(environment),
        close_fds=True,
        start_new_session=True,
    )
    try:
        stdout.close_write_end()
        stderr.close_write_end()
        return await process.wait()
    finally:
        _kill_group(process.pid)
        with anyio.CancelScope(shield=True):
            await process.wait()


def _kill_group(leader: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)
