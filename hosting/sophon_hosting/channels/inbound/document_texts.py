"""Texts of PDF and Word documents that came with a message."""

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from sophon.clock import Clock
from sophon.errors import ToolError
from sophon.processes.command_runner import run_unconfined
from sophon_channels.contract import ChannelAttachment
from sophon_channels.text.single_line import to_single_line

TIMEOUT_SECONDS = 30.0
"""How long a document is read; then it has no text."""
WAIT_SECONDS = 30.0
"""How long a document waits for others that are read."""
MAX_CONCURRENT = 2
"""Documents that are read at once; each is a process of up to 1 GiB."""
MAX_REASON_CHARACTERS = 200

WORKER = (sys.executable, "-P", "-m", "sophon_hosting.channels.inbound.document_text_worker")
"""Program that reads a document, given its path and that of the text. With -P it imports nothing from its folder."""
_WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
_PASSED_VARIABLES = ("PYTHONPATH", "LANG", "SYSTEMROOT")


class DocumentTexts:
    """Reader of documents, in processes with limits (`document_text_worker`)."""

    def __init__(self, clock: Clock, worker: Sequence[str] = WORKER) -> None:
        self._clock, self._worker = clock, tuple(worker)
        self._slots = asyncio.Semaphore(MAX_CONCURRENT)

    async def extract(self, file: ChannelAttachment, path: Path) -> Path | str:
        """Return the file with the text of a document; why there is none, "" for a file of another kind.

        The folder of `path` gets the text and must be one that only this process writes.
        """
        if not is_document(file):
            return ""
        target = path.with_name(f"{path.name}.txt")
        environment = {name: os.environ[name] for name in _PASSED_VARIABLES if name in os.environ}
        try:
            async with self._clock.timeout(WAIT_SECONDS):
                await self._slots.acquire()
        except TimeoutError:
            return "too many other documents are being read"
        try:
            async with self._clock.timeout(TIMEOUT_SECONDS):
                result = await run_unconfined([*self._worker, str(path), str(target)], path.parent, environment)
        except TimeoutError:
            return f"reading it took longer than {TIMEOUT_SECONDS:.0f} s"
        except ToolError as error:
            return to_single_line(str(error), MAX_REASON_CHARACTERS)
        finally:
            self._slots.release()
        if result.code != 0:
            return to_single_line(result.stdout, MAX_REASON_CHARACTERS) or "it could not be read"
        return target


def is_document(file: ChannelAttachment) -> bool:
    """Return whether a file says that it is a PDF or Word document. Pure."""
    return file.media_type in ("application/pdf", _WORD) or file.name.lower().endswith((".pdf", ".docx"))
