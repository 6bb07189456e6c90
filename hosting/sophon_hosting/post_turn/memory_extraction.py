"""Memory extraction: store lasting facts and preferences that the user stated about themselves."""

import logging
import re
from typing import Literal

import orjson

from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.errors import SophonError
from sophon.lazy_dataclass import dataclass
from sophon.messages import Message, Response
from sophon.principals import memory_scope
from sophon.settings.types.json_types import is_list, is_mapping
from sophon.stores.memories.contract import MemoryEntry

log = logging.getLogger("sophon")

MAX_MEMORIES = 5
"""Maximum number of memories per answer."""

STATEMENT_CHARACTERS = range(3, 501)
"""Possible lengths of a memory."""

MAX_OUTPUT_TOKENS = 500
INSTRUCTION = (
    "From the message below, list what its author says of themselves that will still be true and useful in later "
    "conversations: facts about them, and their preferences. Each is one sentence that can be understood on its own. "
    "Leave out what is asked for, what is only true now, and anything secret. Answer with JSON only: "
    '[{"text": "...", "category": "fact" or "preference"}], or [] if there is nothing.'
)
_SECRET = re.compile(
    r"\b(?:sk|pk|ghp|xox[bp]|eyJ)[-_A-Za-z0-9.]{12,}|\b(?:password|passphrase|passwort|pin|token|api[ _-]?key|secret)\b"
    r"|\b\d(?:[ -]?\d){11,18}\b|-----BEGIN",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class MemoryStatement:
    """Memory in a model's answer: one sentence, of `STATEMENT_CHARACTERS`, and its category."""

    text: str
    category: Literal["fact", "preference"]


class MemoryExtraction:
    """Innermost middleware of the extraction chain; the turn's text is what the user wrote themselves.

    It reads nothing else: no web page, no tool result, and nothing that the user quoted or forwarded. A text that the
    user pasted cannot be told from their own. Known memories are not stored again.
    """

    zone = "inner"
    acts = {"turn": "asks a model for lasting facts and stores them"}  # noqa: RUF012 - plain data

    async def __call__(self, ctx: Context, next: Next, /) -> None:  # noqa: A002 - the middleware signature
        messages = [Message("system", INSTRUCTION), Message("user", ctx.text)]
        stored_count = 0
        try:
            request = ctx.request(messages, purpose="memory", max_tokens=MAX_OUTPUT_TOKENS, temperature=0)
            stored_count = await _store_new(ctx, parse_statements((await ctx.complete(request)).text))
        except SophonError as error:
            log.info("memory extraction failed: %s", error)
        ctx.response = Response(f"remembered {stored_count}")


def parse_statements(text: str) -> list[MemoryStatement]:
    """Parse the JSON list in a model's answer, ignoring surrounding text; skip invalid entries and likely secrets."""
    start, end = text.find("["), text.rfind("]")
    try:
        entries: object = orjson.loads(text[start : end + 1]) if 0 <= start < end else []
    except orjson.JSONDecodeError:
        return []
    statements_found: list[MemoryStatement] = []
    for entry in entries if is_list(entries) else []:
        statement = _parse_statement(entry)
        if statement is not None and not _SECRET.search(statement.text):
            statements_found.append(statement)
    return statements_found[:MAX_MEMORIES]


def _parse_statement(entry: object) -> MemoryStatement | None:
    """Return None for what is no statement."""
    if not is_mapping(entry):
        return None
    text, category = entry.get("text"), entry.get("category", "fact")
    if not isinstance(text, str) or len(text) not in STATEMENT_CHARACTERS or category not in ("fact", "preference"):
        return None
    return MemoryStatement(text, category)


async def _store_new(ctx: Context, statements: list[MemoryStatement]) -> int:
    if not statements:
        return 0
    memory, clock, scope = ctx.services.store.memories, ctx.services.clock, memory_scope(ctx.data_owner)
    known = {_normalize(entry.text) for entry in await memory.list_all(scope=scope)}
    stored_count = 0
    for statement in statements:
        if _normalize(statement.text) in known:
            continue
        known.add(_normalize(statement.text))
        stored_count += 1
        await memory.write(
            MemoryEntry(
                id=clock.new_id(),
                text=statement.text.strip(),
                category=statement.category,
                scope=scope,
                origin=f"learned/{ctx.session_id}",
                created_at=clock.now(),
                sources=(),  # the user's own message, and nothing else, was read
            )
        )
    return stored_count


def _normalize(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))
