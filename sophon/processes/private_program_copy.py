"""Private copy of a program: the bytes that were judged run, whatever becomes of the file that they were read from."""

import shutil
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread

READ_ONLY: Final = 0o400


@asynccontextmanager
async def open_private_copy(name: str, content: bytes) -> AsyncGenerator[Path]:
    """Write a file into a new folder of its own, which only this account can open; both are deleted at the end.

    Nothing else is in the folder: a program finds no module beside it that was not judged. Raises OSError.
    """
    folder = await anyio.to_thread.run_sync(_write, name, content)
    try:
        yield folder
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(partial(shutil.rmtree, folder, ignore_errors=True))


def _write(name: str, content: bytes) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="sophon-program-"))
    (folder / name).write_bytes(content)
    (folder / name).chmod(READ_ONLY)
    return folder
