"""Files from Telegram to the disk, piece by piece, never larger than allowed."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import anyio

from sophon_channels.contract import Attachment
from sophon_channels.errors import ChannelError
from sophon_channels.fields import text, whole
from sophon_channels.telegram.client import Client
from sophon_channels.telegram.failures import Failure
from sophon_channels.telegram.transport import Transport

LARGEST = 20 * 1024 * 1024
"""Bytes that the Bot API gives out (getFile)."""

PIECE = 256 * 1024
DOWNLOAD_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class _File:
    """What is fetched: `path` is getFile's, `size` what Telegram says, `allowed` what we take, both in bytes."""

    name: str
    path: str
    size: int | None
    allowed: int


async def download(client: Client, transport: Transport, attachment: Attachment, target: str, limit: int) -> int:
    """Stream a file to `target`; its bytes. Nothing is left there if that fails. Raises ChannelError."""
    name, allowed = _name(attachment), min(limit, LARGEST)
    _check(name, attachment.size, allowed)
    try:
        found = await client.file(attachment.id)
        file = _File(name, text(found, "file_path"), whole(found, "file_size"), allowed)
        _check(name, file.size, allowed)
        if not file.path:
            raise ChannelError(f"Telegram gives {name} out no more")
        return await _kept(transport, file, target)
    except Failure as failure:
        raise ChannelError(f"{name} could not be fetched: {failure}") from None
    except OSError as error:
        raise ChannelError(f"{name} could not be kept: {error.strerror}") from None


async def _kept(transport: Transport, file: _File, target: str) -> int:
    try:
        return _undamaged(file, await _streamed(transport, file, target))
    except BaseException:
        _remove(target)
        raise


async def _streamed(transport: Transport, file: _File, target: str) -> int:
    got = 0
    async with (
        transport.download(file.path, seconds=DOWNLOAD_SECONDS) as response,
        await anyio.open_file(target, "wb") as disk,
    ):
        async for piece in response.content.iter_chunked(PIECE):
            got += len(piece)
            _check(file.name, got, file.allowed)
            await disk.write(piece)
    return got


def _undamaged(file: _File, got: int) -> int:
    if file.size is not None and got != file.size:
        raise ChannelError(f"{file.name} came damaged: {got} of {file.size} bytes; send it again")
    return got


def _remove(target: str) -> None:
    with suppress(OSError):
        Path(target).unlink()


def _check(name: str, size: int | None, allowed: int) -> None:
    if size is not None and size > allowed:
        raise ChannelError(f"{name} is too large: {size} bytes, and at most {allowed} are fetched")


def _name(attachment: Attachment) -> str:
    return repr(attachment.name) if attachment.name else f"the {attachment.kind}"
