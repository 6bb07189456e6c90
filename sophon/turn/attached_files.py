"""Contents of attachments in a request to a model: images and PDFs as such, text within a fence, everything else named.

What a model cannot take is named by the adapter of its API (`sophon.models.providers.media_content`), because only that
knows the model which is asked in the end.
"""

import base64
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256
from typing import Final, TypeAlias

from sophon.attachment_inspection import MAX_TEXT_CHARACTERS
from sophon.attachments import PDF, Attachment
from sophon.context.state import TurnState
from sophon.documents import Document, describe_unread_file
from sophon.extensions import Key
from sophon.images import Image
from sophon.media_type_detection import decode_text
from sophon.messages import Message
from sophon.stores.contract import Store
from sophon.tools.untrusted_text import ATTACHED_FILE, fence_text

MAX_REQUEST_BYTES: Final = 20_000_000
"""Bytes of all images and PDFs of a request, the newest first: Anthropic takes 32 MB with everything, in base64."""

MAX_REQUEST_IMAGES: Final = 50
"""Images of a request, the newest first: Anthropic takes 100."""

GONE = "it is no longer kept"
NO_ROOM = "it is left out, because newer files fill the room"

ReadFile: TypeAlias = Callable[[str], Awaitable[bytes | None]]
"""Returns the bytes of an attachment of the session by its id; None if there is none."""

Shown: TypeAlias = dict[tuple[str, tuple[Attachment, ...]], Message]

SHOWN_MESSAGES: Key[Shown] = Key("attached_files.shown")
"""Messages with the contents of their attachments that the turn has made, so that each round reads no file again."""


async def show_attachments(
    messages: Sequence[Message], read: ReadFile, shown: Shown, *, max_characters: int
) -> list[Message]:
    """Return the messages with the contents of their attachments; `shown` is read and filled.

    Of the files beyond `MAX_REQUEST_BYTES` and `MAX_REQUEST_IMAGES`, the oldest, models read the names only.
    """
    room, images = MAX_REQUEST_BYTES, MAX_REQUEST_IMAGES
    result: list[Message] = []
    for message in reversed(messages):
        if not message.attachments:
            result.append(message)
            continue
        fits: list[Attachment] = []
        for attachment in message.attachments:
            images -= attachment.is_image
            room -= attachment.size if attachment.is_image or attachment.media_type == PDF else 0
            if room >= 0 and images >= 0:
                fits.append(attachment)
        key = (message.content, tuple(fits))
        if key not in shown:
            shown[key] = await _show(message, fits, read, max_characters)
        result.append(shown[key])
    return result[::-1]


async def show_attachments_of_turn(turn: TurnState, messages: Sequence[Message], store: Store) -> list[Message]:
    """Return the messages with the contents of their attachments; the turn keeps what was read for its later rounds."""
    shown: Shown | None = turn.get(SHOWN_MESSAGES)
    if shown is None:
        shown = {}
        turn.put(SHOWN_MESSAGES, shown)
    read = partial(store.attachments.read, session_id=turn.session_id)
    return await show_attachments(messages, read, shown, max_characters=MAX_TEXT_CHARACTERS)


def fence_file(attachment: Attachment, content: bytes, max_characters: int) -> str:
    """Return the text of a file within a fence, cut to its beginning.

    The fence is the same for each request, which keeps the provider's prompt cache; nobody can put its nonce into the
    file, because it is a hash of the file and of an id that was chosen afterwards.
    """
    text = decode_text(content) or ""
    nonce = sha256(attachment.id.encode() + content).hexdigest()[:16]
    facts = f"[File: {attachment.name}, {attachment.media_type}, {attachment.size:,} bytes]"
    note = ""
    if len(text) > max_characters:
        note = f"\n[the first {max_characters:,} of {len(text):,} characters are shown]"
    return f"{facts}\n{fence_text(text[:max_characters], f'{ATTACHED_FILE} {attachment.name}', nonce)}{note}"


async def _show(message: Message, fits: Sequence[Attachment], read: ReadFile, max_characters: int) -> Message:
    images, documents = list(message.images), list(message.documents)
    lines = [message.content] if message.content else []
    for attachment in message.attachments:
        content = await read(attachment.id) if attachment in fits else None
        if content is None:
            lines.append(_name(attachment, GONE if attachment in fits else NO_ROOM))
        elif attachment.is_image:
            images.append(Image(_encode(content), media_type=attachment.media_type, name=attachment.name))
        elif attachment.media_type == PDF:
            documents.append(Document(_encode(content), PDF, attachment.name, attachment.size, attachment.tokens))
        elif attachment.is_text:
            lines.append(fence_file(attachment, content, max_characters))
        else:
            lines.append(_name(attachment, "models cannot read files of this kind"))
    return replace(
        message, content="\n\n".join(lines), images=tuple(images), documents=tuple(documents), attachments=()
    )


def _name(attachment: Attachment, reason: str) -> str:
    return describe_unread_file(attachment.name, attachment.media_type, attachment.size, reason)


def _encode(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")
