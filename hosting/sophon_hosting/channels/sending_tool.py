"""The tool that sends a file into the chat that a turn came from."""

import hashlib
import mimetypes
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from sophon.context import Context
from sophon.errors import NotFound, ToolError
from sophon.tools.builtin.files import files_folder
from sophon.tools.tool import Risk, Tool, tool
from sophon_channels.contract import Channel, Outgoing
from sophon_hosting.channels.letters import parts

NAME = "chat.send_file"

FILE = "file"
"""The kind of its entries in the ledger."""

NO_CHAT = "there is no chat to send a file to: this turn did not come from one"


def sending_tool(channels: Mapping[str, Channel], wake: Callable[[str], None]) -> Tool:
    """`chat.send_file` for these channels, by their names; `wake` hears of the one that has something to send."""

    @tool(
        name=NAME,
        risk=Risk.LOW,
        group="chat",
        idempotent=True,
        tags=("send", "file", "files", "chat", "document", "image", "photo", "attach", "share"),
    )
    async def send_file(ctx: Context, path: str, caption: str = "") -> str:
        """Send a file from the folder of the file tools to the person in this chat.

        Args:
            path: Relative to the files folder, such as reports/march.pdf.
            caption: A text that stands below the file.
        """
        channel, chat = await _origin(ctx, channels)
        place, size = await ctx.services.clock.in_thread(lambda: files_folder(ctx).locate(path))
        if not 0 < size <= channel.largest_file:
            wrong = f"larger than the {channel.largest_file:,} bytes that go out here" if size else "empty"
            raise ToolError(f"{path!r} cannot be sent: it has {size:,} bytes, and is {wrong}")
        outgoing = Outgoing(caption, file=str(place), file_name=place.name, media_type=media_type_of(place))
        entries = parts(channel, chat, _name(ctx), outgoing, FILE)
        await ctx.services.store.outbound.add([replace(entry, run_id=ctx.task_id) for entry in entries])
        wake(channel.name)
        return f"{path} ({size:,} bytes) is on its way to the person in this chat; it need not be sent again"

    return send_file


def media_type_of(path: Path) -> str:
    """By its ending alone; empty for one that nobody knows."""
    return mimetypes.guess_type(path.name)[0] or ""


async def _origin(ctx: Context, channels: Mapping[str, Channel]) -> tuple[Channel, str]:
    """The channel and the chat that the turn's message came from."""
    try:
        run = await ctx.services.store.runs.get(ctx.task_id)
    except NotFound:
        raise ToolError(NO_CHAT) from None
    channel, chat = channels.get(run.channel), str(run.origin.get("chat") or "")
    if channel is None or not chat:
        raise ToolError(NO_CHAT)
    return channel, chat


def _name(ctx: Context) -> str:
    """Of this call and no other, also when its turn is resumed: models number their calls anew in each reply."""
    call = next((each for each in ctx.pending if each.name == NAME and each.id not in ctx.waiting), None)
    if call is None:
        raise ToolError("a file is sent by a call of a turn, and this is none")
    digest = hashlib.sha256(f"{ctx.iteration}:{call.id}".encode()).hexdigest()
    return f"{ctx.run_id}:{FILE}:{digest[:16]}"
