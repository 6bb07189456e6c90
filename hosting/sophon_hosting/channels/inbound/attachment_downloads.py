"""Attachments: downloads the files of a message before its turn starts, lists them in its text, and shows them."""

import asyncio
import logging
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from sophon.attachment_inspection import FileTooLarge, inspect_file
from sophon.attachments import UPLOADS_FOLDER, Attachment
from sophon.builtin_tools.sandboxed_folder import SandboxedFolder
from sophon.clock import Clock
from sophon.errors import InputError, NotFound, StoreError, ToolError
from sophon.principals import files_folder
from sophon.services import Services
from sophon.stores.attachments.stored_attachment import TooManyBytes
from sophon.tools.untrusted_text import fence_text
from sophon_channels.contract import Channel, ChannelAttachment
from sophon_channels.errors import ChannelError
from sophon_channels.text.single_line import to_single_line
from sophon_hosting.channels.inbound.transcription import TRANSCRIPT_SUFFIX, Transcriber
from sophon_hosting.parsing.parser_process import ParserProcesses, ParsersBusy, build_program
from sophon_hosting.runs.data_owner_and_chat_overrides import audience_of_run
from sophon_hosting.runs.own_text import FOREIGN_SOURCES, FORWARDED_MESSAGE
from sophon_hosting.store.contract import host_store
from sophon_hosting.store.runs.contract import Run

log = logging.getLogger("sophon")

MAX_ATTACHMENT_BYTES = 20_000_000
"""Maximum size of one file; the maximum that Telegram offers."""

DOWNLOAD_TIMEOUT_SECONDS = 60.0
"""Timeout for all files of a message together: meanwhile a worker is occupied."""

_MEDIA_TYPE = re.compile(r"[\w.+-]{1,80}/[\w.+-]{1,80}", re.ASCII)

_UNSAFE_CHARACTERS = re.compile(r"[^\w.-]+")

_BRACKETS = str.maketrans("[]", "()")

DOCUMENT_TIMEOUT_SECONDS = 30.0
"""How long a document is read; then it has no text."""

DOCUMENT_WORKER = build_program("sophon_hosting.channels.inbound.document_text_worker")
"""Program that reads a document, given its path and that of the text."""

_WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"

SHOWN_KINDS = frozenset({"image", "document"})
"""Kinds of files that models may be shown; the others are files of the person's folder only."""


class ShownFiles:
    """Stores the files of a run's message as attachments of its session, which belong to the owner of the session.

    The id follows from run and number, so a run that starts again stores nothing twice. A file that is not accepted
    (its kind, its size, the limit of the person) is in the folder only, where tools read it.
    """

    def __init__(self, services: Services) -> None:
        self._services = services

    async def attach(self, run: Run, number: int, name: str, path: Path) -> Attachment | str:
        """Return the attachment that a downloaded file has become; a sentence if there is no room, "" for other kinds.

        Raises OSError, StoreError.
        """
        services, settings = self._services, self._services.settings.attachments
        if not settings.enabled:
            return ""
        session = await host_store(services).sessions.find(run.session_id)
        if session is None:
            return ""
        count_text = services.gateway.tokens.count_text

        def read() -> tuple[Attachment, bytes]:
            with path.open("rb") as file:
                content = file.read(settings.max_bytes + 1)
            return inspect_file(content, name, f"{run.id}-{number}", settings, count_text), content

        try:
            attachment, content = await services.clock.run_in_thread(read)
            add = partial(host_store(services).attachments.add, max_total_bytes=settings.max_total_bytes)
            stored = await add(attachment, content, owner=session.owner, session_id=session.id)
        except (FileTooLarge, TooManyBytes) as error:
            return str(error)
        except (InputError, NotFound):  # of another kind; or the session was deleted meanwhile
            return ""
        return stored.attachment


class AttachmentDownloader:
    """Downloader of the files that `Run.origin` lists, to the files folder of the turn's data owner.

    That folder is open to tools, which may leave links and programs there: files are written and read like a tool does,
    and whatever else needs a file gets a copy in a folder that only the host knows.

    With `shown` pictures and documents become attachments of the run's message as well; with a `transcriber` voice
    messages are text.
    """

    def __init__(
        self,
        channels: Mapping[str, Channel],
        root: Path,
        clock: Clock,
        transcriber: Transcriber | None = None,
        shown: ShownFiles | None = None,
    ) -> None:
        self._channels, self._root, self._clock = channels, root, clock
        self._transcriber, self._shown, self._documents = transcriber, shown, DocumentTexts(clock)

    async def prepare_run(self, run: Run) -> Run:
        """Return the run with one line per file appended to its text: its path, or the error; and with the attachments
        that models are shown. Idempotent.
        """
        channel = self._channels.get(run.channel)
        attachments = run.origin.get("attachments")
        if channel is None or not attachments:
            return run
        files = [ChannelAttachment(**file) for file in attachments]
        found = await asyncio.gather(*(self._fetch(channel, run, *each) for each in enumerate(files)))
        text = "\n".join([run.text, *(line for line, _ in found)])
        shown = [attachment.to_json() for _, attachment in found if attachment is not None]
        return replace(run, text=text, options={**run.options, "attachments": shown} if shown else run.options)

    async def _fetch(
        self, channel: Channel, run: Run, number: int, file: ChannelAttachment
    ) -> tuple[str, Attachment | None]:
        """Return the line of a file, and the attachment that it has become."""
        name = f"{number + 1}-{_UNSAFE_CHARACTERS.sub('_', file.name).strip('._')[-80:] or file.kind}"
        path = f"{UPLOADS_FOLDER}/{channel.name}/{run.id}/{name}"
        folder = SandboxedFolder(self._root / files_folder(audience_of_run(run).data_owner))
        with tempfile.TemporaryDirectory(prefix="sophon-file-") as own:
            copy = Path(own) / name
            try:
                size = await self._obtain(channel, file, folder, path, copy)
            except (ChannelError, OSError, ToolError) as error:
                # The error may quote the name that the sender chose, or the platform's words.
                reason = to_single_line(str(error)).translate(_BRACKETS)
                log.warning("%s: a file could not be downloaded: %s", channel.name, reason)
                return f"[attached: {name}, but it could not be downloaded: {reason}]", None
            shown = await self._show(run, number, file, name, copy)
            note = (
                f"; not shown: {to_single_line(shown).translate(_BRACKETS)}" if isinstance(shown, str) and shown else ""
            )
            note += await self._read_document(file, folder, path, copy)
            line = f"[attached: {name}, {describe_media_type(file)}, {size:,} bytes, {path}{note}]"
            if self._transcriber is not None and file.is_voice:
                line = f"{line}\n{await self._transcribe(self._transcriber, run, file, folder, path, copy)}"
            return line, None if isinstance(shown, str) else shown

    async def _obtain(
        self, channel: Channel, file: ChannelAttachment, folder: SandboxedFolder, path: str, copy: Path
    ) -> int:
        """Download a file, unless an earlier start did, and copy it to `copy`; return its size in bytes."""
        if await self._clock.run_in_thread(lambda: _is_file(folder, path)):
            content = await self._clock.run_in_thread(lambda: folder.read(path, max_bytes=MAX_ATTACHMENT_BYTES))
            await self._clock.run_in_thread(lambda: copy.write_bytes(content))
            return len(content)
        try:
            async with self._clock.timeout(DOWNLOAD_TIMEOUT_SECONDS):
                await channel.download_attachment(file, str(copy), max_bytes=MAX_ATTACHMENT_BYTES)
        except TimeoutError:
            raise ChannelError(f"the download took longer than {DOWNLOAD_TIMEOUT_SECONDS:.0f} s") from None
        content = await self._clock.run_in_thread(copy.read_bytes)
        await self._clock.run_in_thread(lambda: folder.write(path, content, max_bytes=MAX_ATTACHMENT_BYTES))
        return len(content)

    async def _show(self, run: Run, number: int, file: ChannelAttachment, name: str, path: Path) -> Attachment | str:
        """Return the attachment that a file has become, or why it has not, "" if that says nothing."""
        if self._shown is None or file.kind not in SHOWN_KINDS:
            return ""
        try:
            return await self._shown.attach(run, number, name, path)
        except (OSError, StoreError) as error:
            log.warning("%s: a file could not be stored as an attachment: %s", run.channel, to_single_line(str(error)))
            return "it could not be stored"

    async def _read_document(self, file: ChannelAttachment, folder: SandboxedFolder, path: str, copy: Path) -> str:
        """Return where the text of a document is, or why there is none, as a note; "" for other files."""
        place = f"{path}.txt"
        if is_document(file) and await self._clock.run_in_thread(lambda: _is_file(folder, place)):
            return f"; its text: {place}"
        found = await self._documents.extract(file, copy)
        if isinstance(found, Path):
            try:
                content = await self._clock.run_in_thread(found.read_bytes)
                await self._clock.run_in_thread(lambda: folder.write(place, content))
            except (OSError, ToolError) as error:
                found = f"it could not be stored ({type(error).__name__})"
            else:
                return f"; its text: {place}"
        return f"; its text could not be read: {found.translate(_BRACKETS)}" if found else ""

    async def _transcribe(
        self,
        transcriber: Transcriber,
        run: Run,
        file: ChannelAttachment,
        folder: SandboxedFolder,
        path: str,
        copy: Path,
    ) -> str:
        """Return the words of a voice message: the sender's own, unless it was forwarded.

        They are kept beside the file, where a later start of the turn finds them: each transcription is paid for.
        """
        place, beside = f"{path}{TRANSCRIPT_SUFFIX}", copy.with_name(copy.name + TRANSCRIPT_SUFFIX)
        try:
            is_known = await self._clock.run_in_thread(lambda: _is_file(folder, place))
            if is_known:
                await self._clock.run_in_thread(lambda: beside.write_bytes(folder.read(place)))
            text = await transcriber.transcribe(copy, file.media_type)
            if not is_known:
                await self._clock.run_in_thread(lambda: folder.write(place, text.encode()))
        except (ChannelError, OSError, ToolError) as error:
            reason = to_single_line(str(error)).translate(_BRACKETS)
            return f"[the voice message could not be transcribed: {reason}]"
        if FORWARDED_MESSAGE in run.origin.get(FOREIGN_SOURCES, ()):
            text = fence_text(text, FORWARDED_MESSAGE, self._clock.new_nonce())
        return f"[the voice message, transcribed:]\n{text}"


def _is_file(folder: SandboxedFolder, path: str) -> bool:
    """Return whether an earlier start has stored a file; blocks."""
    try:
        folder.locate(path)
    except ToolError:
        return False
    return True


def describe_media_type(file: ChannelAttachment) -> str:
    """Return the media type, or the kind if that is no plain type: the sender wrote it, and the turn's text has it."""
    return file.media_type if _MEDIA_TYPE.fullmatch(file.media_type) else file.kind


class DocumentTexts:
    """Reader of documents, in processes with limits (`document_text_worker`)."""

    def __init__(self, clock: Clock, worker: Sequence[str] = DOCUMENT_WORKER) -> None:
        self._parsers = ParserProcesses(clock, worker, timeout_seconds=DOCUMENT_TIMEOUT_SECONDS)

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
