"""Built-in tools `memory.write`, `.read`, `.search`, `.graph` and `.forget`: long-term memory, scoped to its owner."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from sophon._python.value_rules import ValueRules
from sophon.context import Context
from sophon.errors import NotFound, ToolError
from sophon.memory.entities import find_entities
from sophon.memory.entry_ranking import fuse
from sophon.memory.workspace_index import FileChunk, is_in_prompts
from sophon.principals import memory_scope
from sophon.stores.memories.contract import MAIN_AGENT, MemoryEntry, MemoryReach, MemoryReader
from sophon.stores.memories.workspace_folder import WORKSPACE_FOLDER
from sophon.tools.tool import Risk, result_to_text, tool
from sophon.tools.untrusted_text import ExternalText
from sophon.turn.chat_overrides import find_chat_overrides
from sophon.turn.provenance import collect_untrusted_sources

if TYPE_CHECKING:
    from sophon.turn.agent import TurnAgent

MAX_ENTRY_CHARACTERS = 4000
"""Maximum length of an entry, in characters."""

UNKNOWN_SOURCES = "unknown"
"""Shown in place of the sources of an entry of which nobody knows what its turn had read."""

MAX_GRAPH_ENTRIES = 10_000
"""Newest entries that the entity graph is made of."""

MAX_GRAPH_RESULTS = 20

Category = Literal["fact", "preference", "observation"]


@tool(
    deferred=True,
    name="memory.write",
    lasting=True,
    risk=Risk.MEDIUM,
    group="memory",
    tags=("remember", "memory", "memorize", "memorise", "note", "store", "save", "preference"),
)
async def memory_write(
    ctx: Context,
    text: Annotated[str, ValueRules(min_length=1, max_length=MAX_ENTRY_CHARACTERS)],
    category: Category = "fact",
    reach: MemoryReach = "owner",
) -> str:
    """Remember something about the user or their world beyond this conversation.

    Args:
        text: One statement that can be understood on its own.
        category: What kind of statement it is.
        reach: Who sees it: all conversations, those of this agent, or this one.
    """
    if not text.strip():
        raise ToolError("there is nothing to remember: the text is empty")
    clock, agent = ctx.services.clock, _find_agent(ctx)
    if agent is not None and agent.memory == "agent" and reach == "owner":
        reach = "agent"
    if not find_chat_overrides(ctx).remembers_for_all:
        reach = "session"
    entry = MemoryEntry(
        id=clock.new_id(),
        text=text.strip(),
        category=category,
        scope=memory_scope(ctx.data_owner),
        origin=f"{ctx.channel}/{ctx.session_id}",
        created_at=clock.now(),
        sources=await collect_untrusted_sources(ctx),
        reach=reach,
        agent=(MAIN_AGENT if agent is None else agent.name) if reach == "agent" else "",
        session_id=ctx.session_id if reach == "session" else "",
        entities=find_entities(text),
    )
    await ctx.services.memory.write(entry)
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
    """Look up what has been remembered about the user, in entries and in their notes, the best matches first.

    Args:
        query: Words to look for; an empty text gives the newest entries.
        limit: How many entries at most.
    """
    found = await ctx.services.memory.search(
        query, scope=memory_scope(ctx.data_owner), limit=limit, reader=_find_reader(ctx)
    )
    folder = ctx.root.get(WORKSPACE_FOLDER)
    chunks: Sequence[FileChunk] = ()
    if folder is not None and find_chat_overrides(ctx).remembers_for_all:
        chunks = await ctx.services.workspace(folder).search(query, owner=ctx.data_owner, limit=limit)
    if not (found or chunks):
        return f"Nothing that matches {query!r} has been remembered." if query.strip() else "The memory is empty."
    rankings: list[Sequence[MemoryEntry | FileChunk]] = [[each.entry for each in found], chunks]
    ranked = fuse(rankings)  # what is best of both comes first
    return _show([each for each, _ in ranked[:limit]])


@tool(
    deferred=True,
    name="memory.read",
    risk=Risk.NONE,
    group="memory",
    idempotent=True,
    tags=("memory", "memories", "origin"),
)
async def memory_read(ctx: Context, id: str) -> list[dict[str, Any]] | str:  # noqa: A002 - as in a search
    """Show one entry of the memory: where it comes from, who sees it, and what it names; or lines of a note.

    Args:
        id: The entry's id, as memory.search shows it; or lines of a note, as MEMORY.md:12-30.
    """
    folder = ctx.root.get(WORKSPACE_FOLDER)
    lines = None if folder is None else await ctx.services.workspace(folder).read(id, owner=ctx.data_owner)
    if lines is not None:
        return lines if is_in_prompts(id) else ExternalText(lines)
    entry = await _find(ctx, id)
    facts: dict[str, Any] = {"reach": entry.reach, "origin": entry.origin, "entities": list(entry.entities)}
    if entry.relations:
        facts["relations"] = [f"{each.subject} {each.name} {each.object}" for each in entry.relations]
    return _show([entry], facts)


@tool(
    deferred=True,
    name="memory.graph",
    risk=Risk.NONE,
    group="memory",
    idempotent=True,
    tags=("memory", "memories", "related", "relationship", "connection"),
)
async def memory_graph(
    ctx: Context,
    entity: Annotated[str, ValueRules(min_length=1, max_length=200)],
    depth: Annotated[int, ValueRules(ge=1, le=4)] = 1,
) -> list[dict[str, Any]] | str:
    """Show what the memory links to a person, project, place or date: other such names, relations, and the entries.

    Args:
        entity: The name.
        depth: How many links away: 1 for what is named together with it.
    """
    from sophon.memory.entity_graph import build_graph, traverse  # lazy: most processes never need the graph

    memories, scope = ctx.services.store.memories, memory_scope(ctx.data_owner)
    linked = await memories.list_linked(scope=scope, limit=MAX_GRAPH_ENTRIES, reader=_find_reader(ctx))
    around = await ctx.services.clock.run_in_thread(
        lambda: traverse(build_graph(linked), entity, depth, MAX_GRAPH_RESULTS)
    )
    if around is None:
        return f"The memory links nothing to {entity!r}."
    by_id = {each.id: each for each in linked}
    facts: dict[str, Any] = {"linked": [{"entity": name, "distance": distance} for name, distance in around.entities]}
    if around.relations:
        facts["relations"] = [f"{each.subject} {each.name} {each.object}" for each in around.relations]
    entries = [by_id[each] for each in around.entry_ids]
    # Any of the entries may have given a name, not only those that are shown.
    return _show(entries[:MAX_GRAPH_RESULTS], facts, is_trusted=all(each.is_trusted for each in entries))


@tool(
    deferred=True,
    name="memory.forget",
    lasting=True,
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
    entry = await _find(ctx, id)
    try:
        await ctx.services.memory.forget(id, scope=entry.scope)
    except NotFound as error:
        raise ToolError(f"memory {id!r} has been forgotten already") from error
    return f"Forgotten: {entry.id}"  # without its text, which would stay in the conversation


async def _find(ctx: Context, entry_id: str) -> MemoryEntry:
    # The existence of entries that the turn may not see is not disclosed.
    entry = (await ctx.services.store.memories.find([entry_id])).get(entry_id)
    if entry is None or entry.scope != memory_scope(ctx.data_owner) or not _find_reader(ctx).may_see(entry):
        raise ToolError(f"there is no memory {entry_id!r}; memory.search shows the ids")
    return entry


def _find_reader(ctx: Context) -> MemoryReader:
    agent = _find_agent(ctx)
    return MemoryReader(
        ctx.session_id,
        MAIN_AGENT if agent is None else agent.name,
        only_session=not find_chat_overrides(ctx).remembers_for_all,
    )


def _find_agent(ctx: Context) -> "TurnAgent | None":
    if ctx.services.assistant.agents is None:
        return None
    from sophon.turn.agent import find_turn_agent  # lazy: most hosts have no agents

    return find_turn_agent(ctx)


def _show(
    found: Sequence[MemoryEntry | FileChunk], facts: dict[str, Any] | None = None, *, is_trusted: bool = True
) -> list[dict[str, Any]] | str:
    """Return entries and notes as a result; what a page said yesterday is no more trusted than what it says today."""
    items = [_entry_to_json(each) if isinstance(each, MemoryEntry) else _chunk_to_json(each) for each in found]
    items += [facts] if facts else []
    return items if is_trusted and all(each.is_trusted for each in found) else ExternalText(result_to_text(items))


def _chunk_to_json(chunk: FileChunk) -> dict[str, Any]:
    item: dict[str, Any] = {"id": chunk.id, "text": chunk.text.strip(), "category": "note"}
    return item if chunk.is_trusted else {**item, "sources": [f"file {chunk.file}"]}


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
