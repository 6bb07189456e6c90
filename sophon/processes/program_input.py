"""Input of a program: a file without a name, so that a program which does not read cannot hold its writer."""

import os
import tempfile
from pathlib import Path
from typing import IO


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
