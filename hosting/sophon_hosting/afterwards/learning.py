"""The memory step: what a person said of themselves, and only that, is kept for later conversations."""

import logging
import re
from typing import Literal

import orjson
from pydantic import BaseModel, Field, ValidationError

from sophon.context import Context
from sophon.errors import SophonError
from sophon.messages import Message, Response
from sophon.pipeline import Next
from sophon.stores.contracts import MemoryEntry

log = logging.getLogger("sophon")

MOST_ENTRIES = 5
MOST_TOKENS = 500
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


class Statement(BaseModel):
    """One thing to be remembered, as a model gives it."""

    text: str = Field(min_length=3, max_length=500)
    category: Literal["fact", "preference"] = "fact"


class Learning:
    """Ends a small chain of its own: the turn's text is the person's message; nothing else is read, so that no page and
    no tool result can plant a memory. What is known already is not kept twice.
    """

    zone = "inner"
    acts = {"turn": "asks a model what is worth remembering, and keeps it"}  # noqa: RUF012 - plain data

    async def __call__(self, ctx: Context, next: Next, /) -> None:  # noqa: A002 - the chain's word
        messages = [Message("system", INSTRUCTION), Message("user", ctx.text)]
        kept = 0
        try:
            request = ctx.request(messages, purpose="memory", max_tokens=MOST_TOKENS, temperature=0)
            kept = await _keep(ctx, statements_in((await ctx.complete(request)).text))
        except SophonError as error:
            log.info("nothing was remembered: %s", error)
        ctx.response = Response(f"remembered {kept}")


def statements_in(text: str) -> list[Statement]:
    """What a model listed, be there prose or a fence around it; what is no statement, or looks secret, is left out."""
    start, end = text.find("["), text.rfind("]")
    try:
        given: object = orjson.loads(text[start : end + 1]) if 0 <= start < end else []
    except orjson.JSONDecodeError:
        return []
    found: list[Statement] = []
    for each in given if isinstance(given, list) else []:  # pyright: ignore[reportUnknownVariableType] - checked below
        try:
            statement = Statement.model_validate(each)
        except ValidationError:
            continue
        if not _SECRET.search(statement.text):
            found.append(statement)
    return found[:MOST_ENTRIES]


async def _keep(ctx: Context, statements: list[Statement]) -> int:
    if not statements:
        return 0
    memory, clock, scope = ctx.services.store.memory, ctx.services.clock, ctx.principal or "user"
    known = {_plain(entry.text) for entry in await memory.all(scope=scope)}
    kept = 0
    for statement in statements:
        if _plain(statement.text) in known:
            continue
        known.add(_plain(statement.text))
        kept += 1
        await memory.write(
            MemoryEntry(
                id=clock.new_id(),
                text=statement.text.strip(),
                category=statement.category,
                scope=scope,
                origin=f"learned/{ctx.session_id}",
                created_at=clock.now(),
            )
        )
    return kept


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))
