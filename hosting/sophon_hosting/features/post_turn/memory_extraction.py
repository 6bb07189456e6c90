"""Memory extraction: store lasting facts and preferences that the user stated about themselves."""

import logging
from functools import partial

from sophon.chain.pipeline import Next
from sophon.composition.part_factories import find_memory_folder
from sophon.context import Context
from sophon.errors import InputError, SophonError
from sophon.memory.statements_to_remember import normalize_statement, parse_statements
from sophon.messages import Message, Response
from sophon.principals import files_folder, memory_scope
from sophon.stores.memories.contract import MemoryEntry
from sophon.stores.memories.workspace_writes import MEMORY_FILE, find_said, read_version
from sophon_hosting.features.post_turn.events import MemoryLearned

log = logging.getLogger("sophon")

MAX_OUTPUT_TOKENS = 500
INSTRUCTION = (
    "From the message below, list what its author says of themselves that will still be true and useful in later "
    "conversations: facts about them, and their preferences. Each is one sentence that can be understood on its own. "
    "Leave out what is asked for, what is only true now, and anything secret. Answer with JSON only: "
    '[{"text": "Ada works at Heron", "category": "fact" or "preference", "relations": [["Ada", "works at", "Heron"]]}]'
    ", or [] if there is nothing. A relation joins two names that stand in the text; there may be none."
)


class MemoryExtraction:
    """Innermost middleware of the extraction chain; the turn's text is what the user wrote themselves.

    It reads nothing else: no web page, no tool result, and nothing that the user quoted or forwarded. A text that the
    user pasted cannot be told from their own. Known memories are not stored again. An event names what was stored, so
    that it can be shown and undone.
    """

    zone = "inner"
    acts = {"turn": "asks a model for lasting facts and stores them"}  # noqa: RUF012 - plain data

    async def __call__(self, ctx: Context, next: Next, /) -> None:  # noqa: A002 - the middleware signature
        messages = [Message("system", INSTRUCTION), Message("user", ctx.text)]
        stored: list[MemoryEntry] = []
        try:
            request = ctx.request(messages, purpose="memory", max_tokens=MAX_OUTPUT_TOKENS, temperature=0)
            statements = parse_statements((await ctx.complete(request)).text)
            said = await self._read_said(ctx)
            statements = [each for each in statements if normalize_statement(each.text) not in said]
            scope, origin = memory_scope(ctx.data_owner), f"learned/{ctx.session_id}"
            stored = await ctx.services.memory.learn(statements, scope=scope, origin=origin)
        except SophonError as error:
            log.info("memory extraction failed: %s", error)
        if stored:
            ctx.emit(MemoryLearned(entry_ids=[each.id for each in stored], texts=[each.text for each in stored]))
        ctx.response = Response(f"remembered {len(stored)}")

    async def _read_said(self, ctx: Context) -> frozenset[str]:
        """Return what MEMORY.md of the person says already."""
        folder = find_memory_folder(ctx.services.settings, ctx.services.folder)
        if folder is None:
            return frozenset()
        path = folder / files_folder(ctx.data_owner) / MEMORY_FILE
        try:
            return find_said((await ctx.services.clock.run_in_thread(partial(read_version, path))).text)
        except (InputError, OSError):  # a file that no prompt has either
            return frozenset()
