"""The title of a session: a few words for a list, by a model, or else by the person's own."""

import logging
import unicodedata

from sophon.context import Context
from sophon.errors import SophonError
from sophon.messages import Message, Response
from sophon.pipeline import Next

log = logging.getLogger("sophon")

MOST_CHARACTERS = 60
MOST_TOKENS = 32
UNTITLED = "Untitled"
INSTRUCTION = "Give this conversation a title of at most six words, in its own language. Answer with the title only."
_FRAME = "\"'`*_#“”„‘’«».:;,- "


class Titling:
    """Ends a small chain of its own: the turn's text is what was said, its answer the title.

    A model that fails, is over budget or says nothing leaves the words of the person.
    """

    zone = "inner"
    acts = {"turn": "asks a model for a title"}  # noqa: RUF012 - plain data, as in every middleware

    async def __call__(self, ctx: Context, next: Next, /) -> None:  # noqa: A002 - the chain's word
        messages = [Message("system", INSTRUCTION), Message("user", ctx.text)]
        title = ""
        try:
            request = ctx.request(messages, purpose="title", max_tokens=MOST_TOKENS, temperature=0)
            title = title_of((await ctx.complete(request)).text)
        except SophonError as error:
            log.info("no title by a model: %s", error)
        ctx.response = Response(title or title_of(ctx.text) or UNTITLED)


def title_of(text: str) -> str:
    """One line without quotation marks, markdown and signs that nobody sees; cut at a word."""
    first = next((line for line in text.splitlines() if line.strip(_FRAME)), "")
    seen = "".join(sign if unicodedata.category(sign)[0] not in "CZ" else " " for sign in first)
    title = " ".join(seen.split()).strip(_FRAME)
    if len(title) <= MOST_CHARACTERS:
        return title
    cut = title[: MOST_CHARACTERS - 1]
    head, space, _ = cut.rpartition(" ")
    return (head if space else cut).rstrip(_FRAME) + "…"
