"""Reader of exports in processes with limits (`export_worker`), for the host and the command line."""

from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from sophon.clock import Clock
from sophon.errors import SophonError
from sophon_hosting.features.imports.conversation import Conversation, Unreadable
from sophon_hosting.features.imports.conversation_lines import read_conversations
from sophon_hosting.parsing.parser_process import ParserProcesses, ParsersBusy, build_program
from sophon_hosting.queue.errors import TryLater

TIMEOUT_SECONDS: Final = 120.0
"""How long a file is parsed."""

WORKER: Final = build_program("sophon_hosting.features.imports.export_worker")


class ImportsBusy(TryLater):
    """Error: too many files of others are parsed (code `imports_busy`)."""

    code = "imports_busy"

    def __init__(self) -> None:
        self.retry_after_seconds = 30
        SophonError.__init__(self, "other files are being read; try again in half a minute")


class ExportReader:
    """Reads exports: whatever a file contains, it costs the host the memory of one conversation at a time."""

    def __init__(self, clock: Clock, worker: Sequence[str] = WORKER) -> None:
        self._parsers = ParserProcesses(clock, worker, timeout_seconds=TIMEOUT_SECONDS)

    @asynccontextmanager
    async def open(self, path: Path) -> AsyncGenerator[Iterator[Conversation | Unreadable]]:
        """Yield the conversations of a file. Raises InputError for a file that is no export, ImportsBusy."""
        with TemporaryDirectory(prefix="sophon-import-") as folder:
            target = Path(folder, "conversations")
            try:
                await self._parsers.run(path.absolute(), target)  # noqa: ASYNC240 - asks no disk
            except ParsersBusy:
                raise ImportsBusy from None
            with target.open("rb") as file:  # noqa: ASYNC230 - a local file, read in a thread
                yield read_conversations(file)
