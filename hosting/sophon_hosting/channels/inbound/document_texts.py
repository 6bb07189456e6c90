"""Texts of PDF and Word documents that came with a message."""

from collections.abc import Sequence
from pathlib import Path

from sophon.clock import Clock
from sophon.errors import InputError
from sophon_channels.contract import ChannelAttachment
from sophon_hosting.parsing.parser_process import ParserProcesses, ParsersBusy, build_program

TIMEOUT_SECONDS = 30.0
"""How long a document is read; then it has no text."""

WORKER = build_program("sophon_hosting.channels.inbound.document_text_worker")
"""Program that reads a document, given its path and that of the text."""
_WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


class DocumentTexts:
    """Reader of documents, in processes with limits (`document_text_worker`)."""

    def __init__(self, clock: Clock, worker: Sequence[str] = WORKER) -> None:
        self._parsers = ParserProcesses(clock, worker, timeout_seconds=TIMEOUT_SECONDS)

    async def extract(self, file: ChannelAttachment, path: Path) -> Path | str:
        """Return the file with the text of a document; why there is none, "" for a file of another kind.

        The folder of `path` gets the text and must be one that only this process writes.
        """
        if not is_document(file):
            return ""
        target = path.with_name(f"{path.name}.txt")
        try:
            await self._parsers.run(path, target)
        except ParsersBusy:
            return "too many other documents are being read"
        except InputError as error:
            return str(error)
        return target


def is_document(file: ChannelAttachment) -> bool:
    """Return whether a file says that it is a PDF or Word document. Pure."""
    return file.media_type in ("application/pdf", _WORD) or file.name.lower().endswith((".pdf", ".docx"))
