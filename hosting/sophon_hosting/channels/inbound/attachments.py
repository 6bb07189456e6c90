"""Attachments: downloads the files of a message before its turn starts, and lists them in the turn's text."""

import asyncio
import logging
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from sophon.clock import Clock
from sophon.principals import files_folder
from sophon.private_files import create_private_file, make_private_folder
from sophon.stores.runs.contract import Run
from sophon_channels.contract import Attachment, Channel
from sophon_channels.errors import ChannelError
from sophon_channels.text.single_line import to_single_line
from sophon_hosting.run_audience import audience_of_run

log = logging.getLogger("sophon")

MAX_ATTACHMENT_BYTES = 20_000_000
"""Maximum size of one file; the maximum that Telegram offers. Source: reference/channels.md."""

DOWNLOAD_TIMEOUT_SECONDS = 60.0
"""Timeout for all files of a message together: meanwhile a worker is occupied."""

_MEDIA_TYPE = re.compile(r"[\w.+-]{1,80}/[\w.+-]{1,80}", re.ASCII)
_UNSAFE_CHARACTERS = re.compile(r"[^\w.-]+")
_BRACKETS = str.maketrans("[]", "()")


class AttachmentDownloader:
    """Downloader of the files that `Run.origin` lists, to the files folder of the turn's data owner."""

    def __init__(self, channels: Mapping[str, Channel], root: Path, clock: Clock) -> None:
        self._channels, self._root, self._clock = channels, root, clock

    async def prepare_run(self, run: Run) -> Run:
        """Return the run with one line per file appended to its text: its path, or the error. Idempotent."""
        channel = self._channels.get(run.channel)
        attachments = run.origin.get("attachments")
        if channel is None or not attachments:
            return run
        files = [Attachment(**file) for file in attachments]
        lines = await asyncio.gather(*(self._describe(channel, run, *each) for each in enumerate(files)))
        return replace(run, text="\n".join([run.text, *lines]))

    async def _describe(self, channel: Channel, run: Run, number: int, file: Attachment) -> str:
        name = f"{number + 1}-{_UNSAFE_CHARACTERS.sub('_', file.name).strip('._')[-80:] or file.kind}"
        path = Path("uploads") / channel.name / run.id / name
        target = self._root / files_folder(audience_of_run(run).data_owner) / path
        try:
            if not target.exists():
                await self._download(channel, file, target)
            size = target.stat().st_size
        except (ChannelError, OSError) as error:
            # The error may quote the name that the sender chose, or the platform's words.
            reason = to_single_line(str(error)).translate(_BRACKETS)
            log.warning("%s: a file could not be downloaded: %s", channel.name, reason)
            return f"[attached: {name}, but it could not be downloaded: {reason}]"
        return f"[attached: {name}, {describe_media_type(file)}, {size:,} bytes, {path.as_posix()}]"

    async def _download(self, channel: Channel, file: Attachment, target: Path) -> None:
        """Download to a temporary name and rename: a crash leaves no incomplete file under the final name."""
        make_private_folder(target.parent)
        part = target.with_name(f"{target.name}.part")
        create_private_file(part)
        try:
            async with self._clock.timeout(DOWNLOAD_TIMEOUT_SECONDS):
                await channel.download_attachment(file, str(part), max_bytes=MAX_ATTACHMENT_BYTES)
        except TimeoutError:
            raise ChannelError(f"the download took longer than {DOWNLOAD_TIMEOUT_SECONDS:.0f} s") from None
        part.replace(target)


def describe_media_type(file: Attachment) -> str:
    """Return the media type, or the kind if that is no plain type: the sender wrote it, and the turn's text has it."""
    return file.media_type if _MEDIA_TYPE.fullmatch(file.media_type) else file.kind
