"""Standard output that is closed when a command starts: what it would have shown is an error at its end."""

import io
import os
from pathlib import Path


class ClosedOutput(io.TextIOWrapper):
    """The null device in place of a closed standard output; `is_lost`: something was written to it."""

    is_lost = False

    def __init__(self) -> None:
        super().__init__(Path(os.devnull).open("wb"), encoding="utf-8")  # noqa: SIM115 - open until the process ends

    def write(self, text: str, /) -> int:
        """Drop a text."""
        self.is_lost = self.is_lost or bool(text)
        return len(text)
