"""Built-in tools `memories.write`, `memories.search` and `memories.delete`: long-term memory, scoped to its owner."""

from typing import Annotated, Any, Literal

from sophon.context import Context
from sophon.context.provenance import collect_untrusted_sources
from sophon.errors import NotFound, ToolError
from sophon.principals import memory_scope
from sophon.stores.memories.contract import MemoryEntry
from sophon.tools.normalization import mask_ids_and_times
from sophon.tools.tool import Risk, result_to_text, tool
from sophon.tools.untrusted_text import ExternalText
from sophon.value_rules import ValueRules

MAX_ENTRY_CHARACTERS = 4000
"""Maximum length of an entry, in characters."""

UNKNOWN_SOURCES = "unknown"
"""Shown in place of the sources of an entry of which nobody knows what its turn had read."""

MemoryCategory = Literal["fact", "preference", "observation"]


@tool(
    deferred=True,
    name="memory.write",
    risk=Risk.MEDIUM,
    group="memory",
    normalize_result=mask_ids_and_times,
    tags=("remember", "memory", "memorize", "memorise", "note", "store", "save", "preference"),
)
async def memory_write(
    ctx: Context,
    text: Annotated[str, ValueRules(min_length=1, max_length=MAX_ENTRY_CHARACTERS)],
    category: MemoryCategory = "fact",
) -> str:
    """Remember something about the user or their world beyond this conversation.

    Args:
        text: One statement that can be understood on its own.
        category: What kind of statement it is.
    """
    if not text.strip():
        raise ToolError("there is nothing to remember: the text is empty")
    clock = ctx.services.clock
    entry = MemoryEntry(
        id=clock.new_id(),
        text=text.strip(),
        category=category,
        scope=memory_scope(ctx.data_owner),
        origin=f"{ctx.channel}/{ctx.session_id}",
        created_at=clock.now(),
        sources=await collect_untrusted_sources(ctx),
    )
    await ctx.services.store.memories.write(entry)
    return f"Remembered as {entry.id}."


@tool(
    deferred=True,
    name="memory.search",
    risk=Risk.NONE,
    group="memory",
    idempotent=True,
    tags=("remember", "memory", "recall", "know", "memories", "remind"),
)
async def memory_search(
    ctx: Context, query: str, limit: Annotated[int, ValueRules(ge=1, le=50)] = 5
) -> list[dict[str, Any]] | str:
    """Look up what has been remembered about the user, the best matches first.

    Args:
        query: Words to look for; an empty text gives the newest entries.
        limit: How many entries at most.
    """
    found = await ctx.services.store.memories.search(query, scope=memory_scope(ctx.data_owner), limit=limit)
    if not found:
        return f"Nothing that matches {query!r} has been remembered." if query.strip() else "The memory is empty."
    # What a page said yesterday is no more trusted than what it says today.
    items = [_entry_to_json(entry) for entry in found]
    return items if all(entry.is_trusted for entry in found) else ExternalText(result_to_text(items))


@tool(
    deferred=True,
    name="memory.forget",
    risk=Risk.HIGH,
    group="memory",
    editable=False,
    tags=("forget", "memory", "delete", "remove", "erase"),
)
async def memory_forget(ctx: Context, id: str) -> str:  # noqa: A002 - the name that the model sees in a search
    """Delete one entry of the memory for good.

    Args:
        id: The entry's id, as memory.search shows it.
    """
    memory = ctx.services.store.memories
    # Entries of other owners cannot be deleted, and their existence is not disclosed.
    entry = next((entry for entry in await memory.list_all(scope=memory_scope(ctx.data_owner)) if entry.id == id), None)
    if entry is None:
        raise ToolError(f"there is no memory {id!r}; memory.search shows the ids")
    try:
        await memory.delete(id)
    except NotFound as error:
        raise ToolError(f"memory {id!r} has been forgotten already") from error
    answer = f"Forgotten: {entry.text}"
    return answer if entry.is_trusted else ExternalText(answer)


def _entry_to_json(entry: MemoryEntry) -> dict[str, Any]:
    item = {
        "id": entry.id,
        "text": entry.text,
        "category": entry.category,
        "date": entry.created_at.date().isoformat() if entry.created_at else None,
    }
    if entry.is_trusted:
        return item
    return {**item, "sources": list(entry.sources) if entry.sources else UNKNOWN_SOURCES}
