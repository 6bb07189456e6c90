"""Files from WhatsApp to the disk, piece by piece, never larger than allowed, and whole."""

import base64
import hashlib
from contextlib import suppress
from pathlib import Path

import anyio

from sophon_channels.contract import Attachment
from sophon_channels.errors import ChannelError
from sophon_channels.fields import text, whole
from sophon_channels.whatsapp.client import Client
from sophon_channels.whatsapp.failures import Failure

MEGABYTE = 1024 * 1024
LARGEST = {"image": 5 * MEGABYTE, "audio": 16 * MEGABYTE, "video": 16 * MEGABYTE, "document": 100 * MEGABYTE}
"""Bytes by kind. Source: reference/channels.md, "Media size"."""

DOWNLOAD_SECONDS = 300.0


async def download(client: Client, attachment: Attachment, target: str, limit: int) -> int:
    """Stream a file to `target`; its bytes. Nothing is left there if that fails. Raises ChannelError."""
    name, allowed = attachment.name or f"the {attachment.kind}", min(limit, LARGEST.get(attachment.kind, limit))
    try:
        found = await client.media(attachment.id)
        _check(name, whole(found, "file_size"), allowed)
        got, digest = await _streamed(client, text(found, "url"), target, name, allowed)
    except Failure as failure:
        _remove(target)
        raise ChannelError(f"{name} could not be fetched: {failure}") from None
    except OSError as error:
        _remove(target)
        raise ChannelError(f"{name} could not be kept: {error.strerror}") from None
    except BaseException:
        _remove(target)
        raise
    told = attachment.digest or text(found, "sha256")
    if told and told not in (digest.hex(), base64.b64encode(digest).decode()):
        _remove(target)
        raise ChannelError(f"{name} came damaged; send it again")
    return got


async def _streamed(client: Client, url: str, target: str, name: str, allowed: int) -> tuple[int, bytes]:
    got, digest = 0, hashlib.sha256()
    async with client.download(url, DOWNLOAD_SECONDS) as response, await anyio.open_file(target, "wb") as disk:
        async for piece in response.aiter_bytes():
            got += len(piece)
            _check(name, got, allowed)
            digest.update(piece)
            await disk.write(piece)
    return got, digest.digest()


def _check(name: str, size: int | None, allowed: int) -> None:
    if size is not None and size > allowed:
        raise ChannelError(f"{name} is too large: {size} bytes, and at most {allowed} are fetched")


def _remove(target: str) -> None:
    with suppress(OSError):
        Path(target).unlink()
