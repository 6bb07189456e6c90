"""Tool `chat.send_file`: sends a file, or several, to the chat that the turn came from."""

import codecs
import hashlib
import mimetypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from sophon.builtin_tools.files import FilePath, open_files_folder
from sophon.context import Context
from sophon.errors import NotFound, ToolError
from sophon.tools.tool import Risk, Tool, tool
from sophon_channels.contract import AlbumChannel, Channel, FileReference, OutboundMessage
from sophon_channels.outbound_entry import OutboundEntry
from sophon_hosting.channels.direct_chat_recipients import recipient_of_run
from sophon_hosting.channels.outbound.message_entries import build_entries
from sophon_hosting.store.contract import host_store

TOOL_NAME = "chat.send_file"
"""Name of the tool."""

FILE_KIND = "file"
"""Kind of the outbound entries of a file."""

MAX_FILES = 20
"""Maximum number of files of one call."""

SNIFFED_BYTES = 4096
"""Bytes of a file of unknown extension that are read to tell text from other content."""

NO_CHAT_MESSAGE = "there is no chat to send a file to: this turn did not come from one"
"""Error of a turn that did not come from a chat."""


def create_send_file_tool(channels: Mapping[str, Channel], wake: Callable[[], None]) -> Tool:
    """Return the tool for these channels, by name; `wake` is called when there is something to send."""

    @tool(
        name=TOOL_NAME,
        risk=Risk.LOW,
        group="chat",
        idempotent=True,
        tags=("send", "file", "files", "chat", "document", "image", "photo", "attach", "share"),
    )
    async def send_file(ctx: Context, path: FilePath, caption: str = "", paths: list[FilePath] | None = None) -> str:
        """Send a file, or several, from the folder of the file tools to the person in this chat.

        Args:
            path: Relative to the files folder, such as reports/march.pdf.
            caption: Text to show below the file.
            paths: More files to send with it, as an album where the chat has albums.
        """
        channel, chat, recipient = await _chat_of_turn(ctx, channels)
        if len(paths or ()) >= MAX_FILES:
            raise ToolError(f"at most {MAX_FILES} files can be sent with one call")
        files = [await _check_file(ctx, channel, each) for each in (path, *(paths or ()))]
        name = _entry_name(ctx)
        entries: list[OutboundEntry] = []
        for number, group in enumerate(_group_files(channel, files)):
            first, *more = group
            message = OutboundMessage(
                "" if number else caption,
                file_path=first.path,
                file_name=first.name,
                media_type=first.media_type,
                more_files=tuple(more),
            )
            # One message each: a rejected file does not end the others.
            entry_name = f"{name}-{number}" if number else name
            entries += build_entries(channel, chat, entry_name, message, FILE_KIND, recipient=recipient)
        await host_store(ctx.services).outbox.add([replace(entry, run_id=ctx.task_id) for entry in entries])
        wake()
        if paths:
            size = sum(file.size for file in files)
            return (
                f"{len(files)} files ({size:,} bytes) are queued for the person in this chat and not delivered yet; "
                "if one cannot be delivered, the chat is told why. Do not send them again"
            )
        return (
            f"{path} ({files[0].size:,} bytes) is queued for the person in this chat and not delivered yet; if it "
            "cannot be delivered, the chat is told why. Do not send it again"
        )

    return send_file


def guess_media_type(path: Path) -> str:
    """Return the media type by file extension; "" if it is unknown. Pure."""
    return mimetypes.guess_type(path.name)[0] or ""


def detect_media_type(path: Path) -> str:
    """Return the media type by file extension, else text/plain for a file that begins with UTF-8 text; "" if it is
    unknown. Blocks.
    """
    guessed = guess_media_type(path)
    if guessed:
        return guessed
    with path.open("rb") as stream:
        head = stream.read(SNIFFED_BYTES)
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return ""
    return "" if "\x00" in text else "text/plain"


async def _check_file(ctx: Context, channel: Channel, path: str) -> FileReference:
    """Return a file of the folder. Raises ToolError if it is none, or the platform would refuse it."""
    run_in_thread = ctx.services.clock.run_in_thread
    place, size = await run_in_thread(lambda: open_files_folder(ctx).locate(path))
    media_type = await run_in_thread(lambda: detect_media_type(place))
    if problem := channel.find_file_problem(media_type, size):
        raise ToolError(f"{path!r} cannot be sent: {problem}")
    return FileReference(str(place), place.name, media_type, size)


def _group_files(channel: Channel, files: Sequence[FileReference]) -> list[list[FileReference]]:
    return channel.group_files(files) if isinstance(channel, AlbumChannel) else [[file] for file in files]


async def _chat_of_turn(ctx: Context, channels: Mapping[str, Channel]) -> tuple[Channel, str, str]:
    """Return the channel and the chat that the turn's message came from, and the recipient in it."""
    try:
        run = await host_store(ctx.services).runs.get(ctx.task_id)
    except NotFound:
        raise ToolError(NO_CHAT_MESSAGE) from None
    channel, chat = channels.get(run.channel), str(run.origin.get("chat") or "")
    if channel is None or not chat:
        raise ToolError(NO_CHAT_MESSAGE)
    return channel, chat, recipient_of_run(run)


def _entry_name(ctx: Context) -> str:
    """Return a name unique to this call, also when the turn resumes: models reuse call ids in later replies."""
    call = next((each for each in ctx.pending if each.name == TOOL_NAME and each.id not in ctx.awaiting_approval), None)
    if call is None:
        raise ToolError("chat.send_file must be called within a turn")
    digest = hashlib.sha256(f"{ctx.iteration}:{call.id}".encode()).hexdigest()
    return f"{ctx.run_id}:{FILE_KIND}:{digest[:16]}"
