"""Download of files from WhatsApp to disk, in chunks, with a size limit and a checksum."""

import base64
import hashlib
from contextlib import suppress
from pathlib import Path

import anyio

from sophon_channels.contract import ChannelAttachment
from sophon_channels.errors import ChannelError
from sophon_channels.json_fields import get_int, get_text
from sophon_channels.whatsapp.api.client import WhatsAppClient
from sophon_channels.whatsapp.api.errors import WhatsAppApiError

MEGABYTE = 1024 * 1024
MAX_BYTES_BY_KIND = {"image": 5 * MEGABYTE, "audio": 16 * MEGABYTE, "video": 16 * MEGABYTE, "document": 100 * MEGABYTE}
"""Maximum size in bytes by kind. Source: Meta's Cloud API."""

DOWNLOAD_TIMEOUT_SECONDS = 300.0


async def download_attachment(
    client: WhatsAppClient, attachment: ChannelAttachment, target: str, max_bytes: int
) -> int:
    """Stream a file to the path `target`; return its size in bytes.

    Raises ChannelError, and then leaves no file at `target`.
    """
    name, allowed = (
        repr(attachment.name) if attachment.name else f"the {attachment.kind}",
        min(max_bytes, MAX_BYTES_BY_KIND.get(attachment.kind, max_bytes)),
    )
    try:
        info = await client.get_media(attachment.id)
        _check_limit(name, get_int(info, "file_size"), allowed)
        received, digest = await _stream(client, get_text(info, "url"), target, name, allowed)
    except WhatsAppApiError as failure:
        _delete(target)
        raise ChannelError(f"{name} could not be downloaded: {failure}") from None
    except OSError as error:
        _delete(target)
        raise ChannelError(f"{name} could not be saved: {error.strerror}") from None
    except BaseException:
        _delete(target)
        raise
    expected_digest = attachment.digest or get_text(info, "sha256")
    if expected_digest and expected_digest not in (digest.hex(), base64.b64encode(digest).decode()):
        _delete(target)
        raise ChannelError(f"{name} is damaged; send it again")
    return received


async def _stream(client: WhatsAppClient, url: str, target: str, name: str, allowed: int) -> tuple[int, bytes]:
    received, digest = 0, hashlib.sha256()
    async with (
        client.stream_file(url, DOWNLOAD_TIMEOUT_SECONDS) as response,
        await anyio.open_file(target, "wb") as output,
    ):
        async for chunk in response.aiter_bytes():
            received += len(chunk)
            _check_limit(name, received, allowed)
            digest.update(chunk)
            await output.write(chunk)
    return received, digest.digest()


def _check_limit(name: str, size: int | None, allowed: int) -> None:
    if size is not None and size > allowed:
        raise ChannelError(f"{name} is too large: {size} bytes, and at most {allowed} are downloaded")


def _delete(target: str) -> None:
    with suppress(OSError):
        Path(target).unlink()
