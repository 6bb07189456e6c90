"""Text files inside one folder, which no path leads out of."""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from sophon.context import Context
from sophon.errors import ToolError
from sophon.tools.builtin.folder import Folder
from sophon.tools.tool import Risk, tool

PAGE = 7000
"""Characters that one reading gives unless more are asked for: a result holds 8000 with its frame."""

MAX_PAGE = 200_000


@tool(
    name="files.read",
    risk=Risk.LOW,
    group="files",
    idempotent=True,
    external=True,
    tags=("file", "files", "read", "open", "document", "content", "text"),
)
async def files_read(
    ctx: Context,
    path: str,
    offset: Annotated[int, Field(ge=0)] = 0,
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE)] = PAGE,
) -> str:
    """Read a text file.

    Args:
        path: Relative to the files folder, such as notes/today.txt.
        offset: The character to begin with; for what did not fit into the answer before.
        limit: How many characters at most.
    """
    content = await ctx.services.clock.in_thread(lambda: files_folder(ctx).read(path))
    return page(as_text(content, path), offset, limit)


@tool(
    name="files.list",
    risk=Risk.LOW,
    group="files",
    idempotent=True,
    external=True,
    tags=("file", "files", "folder", "directory", "list", "folders", "directories"),
)
async def files_list(ctx: Context, path: str = ".") -> list[dict[str, str | int]]:
    """List what lies in a folder: names, kinds and sizes in bytes.

    Args:
        path: A folder, relative to the files folder.
    """
    entries = await ctx.services.clock.in_thread(lambda: files_folder(ctx).list(path))
    return [
        {"name": entry.name, "kind": entry.kind} | ({} if entry.bytes is None else {"bytes": entry.bytes})
        for entry in entries
    ]


@tool(
    name="files.write",
    risk=Risk.HIGH,
    group="files",
    serial=True,
    tags=("file", "files", "write", "save", "create", "append", "document"),
)
async def files_write(ctx: Context, path: str, content: str, append: bool = False) -> str:
    """Write a text file, in place of what it held or behind it; missing folders are made.

    Args:
        path: Relative to the files folder, such as notes/today.txt.
        content: The text.
        append: Add to the end of the file instead of replacing it.
    """
    folder, data = files_folder(ctx), content.encode()
    await ctx.services.clock.in_thread(lambda: folder.write(path, data, append=append))
    return f"{'Appended' if append else 'Wrote'} {len(content)} characters to {path}."


def files_root(ctx: Context) -> Path:
    """The folder of the file tools, relative to the host's folder."""
    return ctx.services.folder / ctx.settings.tools.files_root


def files_folder(ctx: Context) -> Folder:
    """The folder of the file tools, ready for use."""
    return Folder(files_root(ctx))


def as_text(content: bytes, path: str) -> str:
    """The text of a file in UTF-8, with or without its mark; raises ToolError for any other content."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ToolError(f"{path!r} is no text file in UTF-8: byte {error.start} is none") from error
    if "\0" in text:
        raise ToolError(f"{path!r} is a binary file; only text can be read")
    return text


def page(text: str, offset: int, limit: int) -> str:
    """`limit` characters from `offset` on, and how to go on where there are more; raises ToolError past the end."""
    if offset and offset >= len(text):
        raise ToolError(f"the file has {len(text)} characters; an offset of {offset} is past its end")
    end = offset + limit
    if end >= len(text):
        return text[offset:]
    return f"{text[offset:end]}\n[characters {offset} to {end} of {len(text)}; go on with offset={end}]"
