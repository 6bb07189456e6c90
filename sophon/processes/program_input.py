"""Input of a program: a file without a name, so that a program which does not read cannot hold its writer."""

import tempfile
from typing import IO


def open_input(content: bytes) -> IO[bytes]:
    """Return an open file with the content, at its beginning; it is gone when it is closed. Raises OSError."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    try:
        file.write(content)
        file.flush()
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return file
