"""Download of files from Telegram to disk, in chunks and with a size limit."""

import os
import stat
from contextlib import suppress
from functools import partial
from pathlib import Path

import anyio

from sophon._python.lazy_dataclass import dataclass
from sophon_channels.contract import ChannelAttachment
from sophon_channels.errors import ChannelError
from sophon_channels.json_fields import get_int, get_text
from sophon_channels.telegram.api.client import TelegramClient
from sophon_channels.telegram.api.errors import TelegramApiError
from sophon_channels.telegram.api.transport import BotApiTransport

MAX_DOWNLOAD_BYTES = 20 * 1024 * 1024
"""Maximum size in bytes that the Bot API offers for download (getFile)."""

CHUNK_BYTES = 256 * 1024
DOWNLOAD_TIMEOUT_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class _File:
    """A file to download: `path` from getFile, `size` as Telegram states it, `allowed` the maximum; both in bytes."""

    name: str
    path: str
    size: int | None
    allowed: int


async def download_attachment(
    client: TelegramClient, transport: BotApiTransport, attachment: ChannelAttachment, target: str, max_bytes: int
) -> int:
    """Stream a file to the path `target`; return its size in bytes.

    Raises ChannelError, and then leaves no file at `target`.
    """
    name = _display_name(attachment)
    allowed = max_bytes if transport.is_local else min(max_bytes, MAX_DOWNLOAD_BYTES)
    _check_limit(name, attachment.size, allowed)
    try:
        info = await client.get_file(attachment.id)
        file = _File(name, get_text(info, "file_path"), get_int(info, "file_size"), allowed)
        _check_limit(name, file.size, allowed)
        if not file.path:
            raise ChannelError(f"Telegram no longer offers {name}")
        if transport.is_local and Path(file.path).is_absolute():
            return await transport.run_in_thread(partial(_copy, file, target, transport.token))
        return await _save(transport, file, target)
    except TelegramApiError as failure:
        raise ChannelError(f"{name} could not be downloaded: {failure}") from None
    except OSError as error:
        raise ChannelError(f"{name} could not be saved: {error.strerror}") from None


async def _save(transport: BotApiTransport, file: _File, target: str) -> int:
    try:
        return _verify_size(file, await _stream(transport, file, target))
    except BaseException:
        _delete(target)
        raise


def _copy(file: _File, target: str, token: str) -> int:
    """Copy a file that a local server keeps on this machine; blocks.

    Such a server keeps the files of a bot in a folder with its token as name: no other path is its own.
    """
    if token not in Path(os.path.realpath(file.path)).parts:
        raise ChannelError(f"{file.name} is not in the folder of this bot")
    try:
        descriptor = os.open(file.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise ChannelError(
            f"{file.name} is not where the Bot API server says ({error.strerror}): with Local the server must keep its "
            "files on this machine, readable for this account"
        ) from None
    try:
        with os.fdopen(descriptor, "rb") as source, open(target, "wb") as output:  # noqa: PTH123 - as the source
            _check_regular(file, os.fstat(source.fileno()))
            while chunk := source.read(CHUNK_BYTES):
                output.write(chunk)
                _check_limit(file.name, output.tell(), file.allowed)
            return _verify_size(file, output.tell())
    except BaseException:
        _delete(target)
        raise


def _check_regular(file: _File, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise ChannelError(f"{file.name} is no regular file")
    _check_limit(file.name, status.st_size, file.allowed)


async def _stream(transport: BotApiTransport, file: _File, target: str) -> int:
    received = 0
    async with (
        transport.stream_file(file.path, timeout_seconds=DOWNLOAD_TIMEOUT_SECONDS) as response,
        await anyio.open_file(target, "wb") as output,
    ):
        async for chunk in response.content.iter_chunked(CHUNK_BYTES):
            received += len(chunk)
            _check_limit(file.name, received, file.allowed)
            await output.write(chunk)
    return received


def _verify_size(file: _File, received: int) -> int:
    if file.size is not None and received != file.size:
        raise ChannelError(f"{file.name} is damaged: {received} of {file.size} bytes arrived; send it again")
    return received


def _delete(target: str) -> None:
    with suppress(OSError):
        Path(target).unlink()


def _check_limit(name: str, size: int | None, allowed: int) -> None:
    if size is not None and size > allowed:
        raise ChannelError(f"{name} is too large: {size} bytes, and at most {allowed} are downloaded")


def _display_name(attachment: ChannelAttachment) -> str:
    return repr(attachment.name) if attachment.name else f"the {attachment.kind}"
