"""Albums (media groups) of Telegram: which files form one, and their sending in one request.

Photos and videos may be mixed; documents and audio files form albums with their like only. Source: Bot API,
sendMediaGroup.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

from sophon_channels.contract import FileReference
from sophon_channels.json_fields import JsonObject, get_objects
from sophon_channels.outbound_file import OutboundFile
from sophon_channels.sent_files import SentFiles, build_file_key
from sophon_channels.telegram.api import request_bodies
from sophon_channels.telegram.api.errors import TelegramApiError, is_file_unknown, is_media_rejected, is_parse_error
from sophon_channels.telegram.api.transport import BotApiTransport, FileUpload
from sophon_channels.telegram.api.uploads import (
    MAX_PHOTO_BYTES,
    PHOTO_MEDIA_TYPES,
    UPLOAD_TIMEOUT_SECONDS,
    UploadKind,
    find_file_id,
    find_max_upload_bytes,
)

METHOD = "sendMediaGroup"
MAX_ALBUM_FILES = 10
"""Maximum number of files in an album; the minimum is two."""

VIDEO_MEDIA_TYPES = frozenset({"video/mp4"})
AUDIO_MEDIA_TYPES = frozenset({"audio/mpeg", "audio/mp4", "audio/x-m4a", "audio/m4a", "audio/mp4a-latm"})
"""MP3 and M4A; `mimetypes` calls M4A `audio/mp4a-latm` on some systems. Source: Bot API, sendAudio."""
SINGLE_MEDIA_TYPES = frozenset({"image/gif"})
"""Media types that Telegram turns into an animation, which no album takes."""


def group_files(files: Sequence[FileReference], max_bytes: int) -> list[list[FileReference]]:
    """Return the files in groups, in the order of their first files: albums, and files that are sent alone. A group
    has at most `max_bytes`, the limit of a request. Pure.
    """
    groups: list[list[FileReference]] = []
    open_groups: dict[str, list[FileReference]] = {}
    for file in files:
        kind = _album_kind(_find_kind(file.media_type, file.size))
        group = open_groups.get(kind)
        is_full = group is None or len(group) == MAX_ALBUM_FILES or _total(group) + file.size > max_bytes
        if group is None or is_full or file.media_type in SINGLE_MEDIA_TYPES:
            groups.append(group := [])
            if file.media_type not in SINGLE_MEDIA_TYPES:
                open_groups[kind] = group
        group.append(file)
    return groups


async def send_album(
    transport: BotApiTransport,
    files: Sequence[OutboundFile],
    chat_key: str,
    payload: Mapping[str, Any],
    *,
    is_repeat: bool,
    sent_files: SentFiles,
) -> Sequence[JsonObject]:
    """Send files as one album, each by reference if Telegram has it, else with an upload; return the messages.

    Raises `TelegramApiError`; ChannelError if a file cannot be read. Nothing is sent then. An album with a photo or
    video that Telegram rejects as such is sent again as documents, a caption that it cannot parse as plain text.
    """
    max_bytes = find_max_upload_bytes(is_local=transport.is_local)
    sizes = [await transport.run_in_thread(partial(file.check_size, max_bytes)) for file in files]
    kinds: list[UploadKind] = [_find_kind(file.media_type, size) for file, size in zip(files, sizes, strict=True)]
    if len({_album_kind(kind) for kind in kinds}) > 1:  # a file has changed since the album was formed
        kinds = ["document"] * len(files)
    as_html = bool(payload.get("html"))
    while True:
        build_body = partial(
            request_bodies.build_send_media_group, chat_key, payload, as_html=as_html, is_repeat=is_repeat
        )
        used_keys: set[str] = set()
        try:
            return await _send(transport, list(zip(files, kinds, strict=True)), build_body, sent_files, used_keys)
        except TelegramApiError as error:
            if used_keys and is_file_unknown(error):  # Telegram does not say which id it does not know
                for key in used_keys:
                    sent_files.forget(key)
            elif set(kinds) != {"document"} and is_media_rejected(error):
                kinds = ["document"] * len(files)
            elif as_html and is_parse_error(error):
                as_html = False
            else:
                raise


async def _send(
    transport: BotApiTransport,
    files: Sequence[tuple[OutboundFile, UploadKind]],
    build_body: Callable[[Sequence[tuple[str, str]]], dict[str, Any]],
    sent_files: SentFiles,
    used_keys: set[str],
) -> Sequence[JsonObject]:
    """Make one attempt; `used_keys` receives the keys of the files that are sent by reference."""
    max_bytes = find_max_upload_bytes(is_local=transport.is_local)
    keys: list[str] = []
    media: list[tuple[str, str]] = []
    uploads: list[FileUpload] = []
    with ExitStack() as stack:
        for number, (file, kind) in enumerate(files):
            stream = stack.enter_context(await transport.run_in_thread(partial(file.open, max_bytes)))
            key = await transport.run_in_thread(partial(build_file_key, stream, kind, file.name, file.media_type))
            keys.append(key)
            if (file_id := sent_files.find(key)) is not None:
                used_keys.add(key)
                media.append((kind, file_id))
            else:
                field = f"{request_bodies.UPLOAD_FIELD}{number}"
                uploads.append(FileUpload(field, file.name, file.media_type, stream))
                media.append((kind, f"attach://{field}"))
        result = await transport.call(
            METHOD, build_body(media), timeout_seconds=UPLOAD_TIMEOUT_SECONDS, uploads=uploads
        )
    messages = get_objects({"result": result}, "result")
    for key, (_, kind), message in zip(keys, files, messages, strict=False):
        if new_id := find_file_id(message, kind):
            sent_files.record(key, new_id)
    return messages


def _find_kind(media_type: str, size: int) -> UploadKind:
    """Return the kind as which a file is sent in an album. Pure."""
    if media_type in PHOTO_MEDIA_TYPES and size <= MAX_PHOTO_BYTES:
        return "photo"
    if media_type in VIDEO_MEDIA_TYPES:
        return "video"
    return "audio" if media_type in AUDIO_MEDIA_TYPES else "document"


def _album_kind(kind: UploadKind) -> str:
    return "photo" if kind == "video" else kind


def _total(files: Sequence[FileReference]) -> int:
    return sum(file.size for file in files)
