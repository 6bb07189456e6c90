"""Built-in tools `files.read`, `files.list` and `files.write`: text files inside one sandboxed folder."""

from functools import lru_cache
from pathlib import Path
from typing import Annotated

from sophon._python.value_rules import ValueRules
from sophon.builtin_tools.sandboxed_folder import SandboxedFolder, check_relative_path
from sophon.context import Context
from sophon.errors import ToolError
from sophon.principals import PRINCIPALS_FOLDER, files_folder, owns_files_root
from sophon.tools.tool import Risk, tool

DEFAULT_PAGE_CHARACTERS = 7000
"""Default number of characters of one read: a tool result has 8000, including its fence."""

FilePath = Annotated[str, ValueRules(after=check_relative_path)]
"""Argument that names a file or folder below the files folder."""

MAX_PAGE_CHARACTERS = 200_000


@tool(
    deferred=True,
    name="files.read",
    risk=Risk.LOW,
    group="files",
    idempotent=True,
    external=True,
    tags=("file", "files", "read", "open", "document", "content", "text"),
)
async def files_read(
    ctx: Context,
    path: FilePath,
    offset: Annotated[int, ValueRules(ge=0)] = 0,
    limit: Annotated[int, ValueRules(ge=1, le=MAX_PAGE_CHARACTERS)] = DEFAULT_PAGE_CHARACTERS,
) -> str:
    """Read a text file.

    Args:
        path: Relative to the files folder, such as notes/today.txt.
        offset: The character to start at; use it to continue a previous read.
        limit: Maximum number of characters.
    """
    content = await ctx.services.clock.run_in_thread(lambda: open_files_folder(ctx).read(path))
    return format_page(decode_text_file(content, path), offset, limit)


@tool(
    deferred=True,
    name="files.list",
    risk=Risk.LOW,
    group="files",
    idempotent=True,
    external=True,
    tags=("file", "files", "folder", "directory", "list", "folders", "directories"),
)
async def files_list(ctx: Context, path: FilePath = ".") -> list[dict[str, str | int]]:
    """List the entries of a folder: names, kinds and sizes in bytes.

    Args:
        path: A folder, relative to the files folder.
    """
    entries = await ctx.services.clock.run_in_thread(lambda: open_files_folder(ctx).list(path))
    return [
        {"name": entry.name, "kind": entry.kind} | ({} if entry.bytes is None else {"bytes": entry.bytes})
        for entry in entries
    ]


@tool(
    deferred=True,
    name="files.write",
    risk=Risk.HIGH,
    group="files",
    serial=True,
    tags=("file", "files", "write", "save", "create", "append", "document"),
)
async def files_write(ctx: Context, path: FilePath, content: str, append: bool = False) -> str:
    """Write a text file, replacing or appending to its content; missing folders are created.

    Args:
        path: Relative to the files folder, such as notes/today.txt.
        content: The text.
        append: Add to the end of the file instead of replacing it.
    """
    folder, data = open_files_folder(ctx), content.encode()
    await ctx.services.clock.run_in_thread(lambda: folder.write(path, data, append=append))
    return f"{'Appended' if append else 'Wrote'} {len(content)} characters to {path}."


def resolve_files_root(ctx: Context) -> Path:
    """Return the files folder of the turn's data owner, below `Tools.FilesRoot`, which is below the host's folder."""
    return _join_files_root(ctx.services.folder, ctx.settings.tools.files_root, ctx.data_owner)


@lru_cache(maxsize=256)
def _join_files_root(folder: Path, files_root: str, owner: str) -> Path:
    """Join the parts once for each owner: several guards ask for the folder on every call."""
    return folder / files_root / files_folder(owner)


def open_files_folder(ctx: Context) -> SandboxedFolder:
    """Return the sandboxed folder of the turn's data owner.

    Who has the root itself does not see the folders of the other principals in it.
    """
    return SandboxedFolder(resolve_files_root(ctx), hidden=PRINCIPALS_FOLDER if owns_files_root(ctx.data_owner) else "")


def decode_text_file(content: bytes, path: str) -> str:
    """Decode a UTF-8 file, with or without byte order mark; raises ToolError for any other content."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ToolError(f"{path!r} is not a UTF-8 text file: invalid byte at position {error.start}") from error
    if "\0" in text:
        raise ToolError(f"{path!r} is a binary file; only text can be read")
    return text


def format_page(text: str, offset: int, limit: int) -> str:
    """Return `limit` characters from `offset` on, with a note on how to continue; raises ToolError past the end."""
    if offset and offset >= len(text):
        raise ToolError(f"the file has {len(text)} characters; an offset of {offset} is past its end")
    end = offset + limit
    if end >= len(text):
        return text[offset:]
    return f"{text[offset:end]}\n[characters {offset} to {end} of {len(text)}; continue with offset={end}]"
