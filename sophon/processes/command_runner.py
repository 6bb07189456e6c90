"""Runner for a program with the rights of the host: bounded output, and its process group is killed at the end."""

import asyncio
import contextlib
import os
import signal
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

import anyio
import anyio.to_thread

from sophon._python.private_files import make_private_folder
from sophon.errors import ToolError
from sophon.processes.bounded_pipe import STDERR_LIMIT, STDOUT_LIMIT, BoundedPipeReader, wait_until_closed
from sophon.processes.command_result import CommandResult

SHELL = "/bin/sh"
"""Shell of commands."""


async def run_unconfined(
    program: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    *,
    stdin: bytes = b"",
    kept: tuple[int, int] = (STDOUT_LIMIT, STDERR_LIMIT),
) -> CommandResult:
    """Run a program with its arguments in `folder`, which is created if missing, and wait for its end.

    The program has its own session, `stdin` as its input, no open file of this process, and exactly the variables of
    `environment`; no process in between inherits more. At the end of the call, also at a timeout or cancellation, every
    process of the group is killed, including background processes, and reaped. A process that starts its own session is
    not killed. `kept` are the bytes kept of stdout and stderr. Raises ToolError if the program cannot be started.
    """
    try:
        await anyio.to_thread.run_sync(make_private_folder, folder)
        stdout, stderr = await BoundedPipeReader(kept[0]).open(), await BoundedPipeReader(kept[1]).open()
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


def open_input(content: bytes) -> IO[bytes]:
    """Return an open file with the content, at its beginning; it is gone when it is closed. Raises OSError.

    Without content it is the null device. On Linux nobody can write to it: a sandboxed program could fill the memory or
    the disk of the host with it.
    """
    if not content:
        return Path(os.devnull).open("rb")
    sealing = getattr(os, "MFD_ALLOW_SEALING", None)
    if sealing is None:
        file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    else:
        file = os.fdopen(os.memfd_create("input", os.MFD_CLOEXEC | sealing), "w+b")
    try:
        file.write(content)
        file.flush()
        file.seek(0)
        if sealing is not None:
            _seal(file)
    except BaseException:
        file.close()
        raise
    return file


def _seal(file: IO[bytes]) -> None:
    import fcntl  # lazy: it exists on Unix only

    fcntl.fcntl(
        file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SEAL | fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK
    )
