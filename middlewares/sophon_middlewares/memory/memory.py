"""Memory: puts the workspace files, and what the long-term memory knows about a message, into each prompt."""

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar

from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.errors import StoreError
from sophon.events import MemoryRecalled
from sophon.extensions import Key
from sophon.memory.statements_to_remember import normalize_statement
from sophon.memory.workspace_files import WORKSPACE_FILES, WorkspaceReader
from sophon.principals import MAIN_AGENT, files_folder, memory_scope
from sophon.security.information_flow.taint import UNTAINTED, Taint
from sophon.stores.data_labels.contract import file_key, memory_key, name_file
from sophon.stores.memories.contract import MemoryEntry, MemoryReader
from sophon.stores.memories.workspace_folder import WORKSPACE_FOLDER
from sophon.stores.memories.workspace_writes import MEMORY_FILE, find_said
from sophon.turn.chat_overrides import CHAT_OVERRIDES
from sophon_middlewares.memory.memory_layer import MemoryLayer
from sophon_middlewares.outer.context_window.fact_flush import HAS_MEMORY
from sophon_middlewares.outer.context_window.room_filler import ROOM_FILLERS

DailyLog = Callable[[Context], Awaitable[Sequence[str]]]
"""Returns the lines of the last two days that a turn may see, oldest first."""

RECALLED = 8
"""Entries that are looked up for a message."""

_LAYER: Key[MemoryLayer] = Key("memory.layer")

PRIVATE = Taint(is_private=True)
"""What the owner's files and entries mean for the information flow, as what `memory.search` finds: private data.

Without a label: each prompt has them, and the matrix would close all that leaves the host for good.
"""


class Memory:
    """Adds a call layer with two sections: the workspace files behind the system prompt, and before the last message
    of the person the entries that match it, and the daily log if `Memory.DailyLog` is set.

    Only entries without untrusted sources are recalled: others are found by memory.search, which fences them. What a
    line of MEMORY.md says is not repeated. A turn in
    a group sees the files and entries of the group, never those of a person. What is recalled counts as private data
    for InformationFlow. The sections take at most `Memory.FileTokens` and `Memory.PromptTokens`, and a quarter and an
    eighth of the model's window. A store that cannot be read costs the turn its recollection, nothing else.

    `folder` holds the workspace files, None for none. Source: OpenParallax, system prompt; ClawDesk, memory search.
    """

    zone = "outer"
    unique = True
    calls_next = True
    after = ("ContextWindow",)
    follows = ("ContextWindow",)  # which counts what Memory adds
    before = ("ToolFilter", "PromptToolBridge", "Planning")
    repeats_after = ("ToolExecution",)
    acts: ClassVar[Mapping[str, str]] = {
        "turn": "reads the workspace files that have changed; looks up what is remembered about the message",
        "model call": "adds both to the prompt, within their budgets",
    }

    def __init__(self, folder: Path | None = None, *, daily_log: DailyLog | None = None) -> None:
        self._folder = folder
        self._reader = None if folder is None else WorkspaceReader(folder)
        self._daily_log = daily_log

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        if not ctx.get(HAS_MEMORY):  # behind the tools it runs again for each model call
            ctx.put(HAS_MEMORY, True)
            if self._folder is not None:
                ctx.put(WORKSPACE_FOLDER, self._folder)
            await self._prepare(ctx)
        layer = ctx.get(_LAYER)
        if layer is None:
            await next(ctx)
            return
        with ctx.call_layer(layer, overhead=layer.added_text):
            await next(ctx)

    async def _prepare(self, ctx: Context) -> None:
        overrides = ctx.root.get(CHAT_OVERRIDES)
        if overrides is not None and overrides.memory == "none":
            return
        only_session = overrides is not None and not overrides.remembers_for_all
        texts: Mapping[str, str] = {} if only_session else await self._read_files(ctx)
        entries, days = await self._recall(ctx, only_session=only_session)
        if entries and MEMORY_FILE in texts:
            said = find_said(texts[MEMORY_FILE])
            entries = [each for each in entries if normalize_statement(each.text) not in said]
        if not (texts or entries or days):
            return
        if ctx.settings.guards.information_flow.enabled:
            await self._note_taint(ctx, texts, entries)
        layer = MemoryLayer(ctx, texts, entries, days)
        ctx.put(_LAYER, layer)
        if layer.fills_room:
            ctx.put(ROOM_FILLERS, [*(ctx.get(ROOM_FILLERS) or ()), layer])
        parts = layer.count_parts()
        ids = [each.id for each in entries]
        ctx.emit(MemoryRecalled(entry_ids=ids, files=[*texts], tokens=layer.count_tokens(), parts=parts))

    async def _read_files(self, ctx: Context) -> Mapping[str, str]:
        if self._reader is None or self._folder is None or not ctx.settings.memory.file_tokens:
            return {}
        reader, own_folder = self._reader, self._folder / files_folder(ctx.data_owner)
        return await ctx.services.clock.run_in_thread(partial(reader.read, own_folder))

    async def _recall(self, ctx: Context, *, only_session: bool) -> tuple[Sequence[MemoryEntry], Sequence[str]]:
        agent = _find_recalling_agent(ctx)
        if agent is None:
            return (), ()
        settings, memory, scope = ctx.settings.memory, ctx.services.memory, memory_scope(ctx.data_owner)
        try:
            keeps_days = self._daily_log is not None and settings.daily_log and not only_session
            days = await self._daily_log(ctx) if keeps_days and self._daily_log is not None else ()
            if not settings.prompt_tokens or await memory.is_empty(scope):
                return (), days
            reader = MemoryReader(ctx.session_id, agent, only_session)
            found = await memory.search(ctx.text, scope=scope, limit=RECALLED, reader=reader)
        except StoreError:
            return (), ()
        return [each.entry for each in found if each.entry.is_trusted], days

    async def _note_taint(self, ctx: Context, texts: Mapping[str, str], entries: Sequence[MemoryEntry]) -> None:
        """Note what the sections mean for the information flow, before anything of the turn is decided.

        An entry and a file have the label of the session that wrote them.
        """
        private = {file.name for file in WORKSPACE_FILES if file.is_private and file.name in texts}
        taint = PRIVATE if entries or private else UNTAINTED
        keys = [memory_key(entry.id) for entry in entries]
        if self._folder is not None:
            own = self._folder / files_folder(ctx.data_owner)
            files = [(own if name in private else self._folder) / name for name in texts]
            keys += _list_file_keys(files, ctx.services.folder)
        if keys:
            for each in (await ctx.services.store.data_labels.find(keys)).values():
                taint = taint.merge(each)
        ctx.tally.taint = ctx.tally.taint.merge(taint)


def _list_file_keys(files: Sequence[Path], folder: Path) -> list[str]:
    """Return the keys of the labels of files; `folder` is that of the host."""
    return [file_key(name_file(os.path.realpath(each), folder)) for each in files]


def _find_recalling_agent(ctx: Context) -> str | None:
    """Return as which agent a turn recalls; None for a plan's step, which is told what it needs, and without memory."""
    if ctx.services.assistant.agents is None:
        return None if ctx.depth else MAIN_AGENT
    from sophon.turn.agent import TURN_AGENT  # lazy: most hosts have no agents

    agent = ctx.get(TURN_AGENT)
    if agent is None:
        return None if ctx.depth else MAIN_AGENT
    return None if agent.memory == "none" else agent.name
