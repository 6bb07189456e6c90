"""Title generation: name a session by a model call, or by the beginning of the user's message."""

import logging

from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.errors import SophonError
from sophon.messages import Message, Response
from sophon.tools.untrusted_text import unfence_text
from sophon_hosting.rendering.control_characters import remove_invisible

log = logging.getLogger("sophon")

MAX_TITLE_CHARACTERS = 60
MAX_OUTPUT_TOKENS = 32
UNTITLED = "Untitled"
INSTRUCTION = "Give this conversation a title of at most six words, in its own language. Answer with the title only."
_STRIPPED_CHARACTERS = "\"'`*_#“”„‘’«».:;,- "


class TitleGeneration:
    """Innermost middleware of the title chain; the turn's text is the user's message, its response the title.

    If the model fails, exceeds the budget or returns nothing, the title is taken from the user's message.
    """

    zone = "inner"
    acts = {"turn": "asks a model for a title"}  # noqa: RUF012 - plain data, as in every middleware

    async def __call__(self, ctx: Context, next: Next, /) -> None:  # noqa: A002 - the middleware signature
        messages = [Message("system", INSTRUCTION), Message("user", ctx.text)]
        title = ""
        try:
            request = ctx.request(messages, purpose="title", max_tokens=MAX_OUTPUT_TOKENS, temperature=0)
            title = title_from_text((await ctx.complete(request)).text)
        except SophonError as error:
            log.info("title generation by a model failed: %s", error)
        ctx.response = Response(title or fallback_title(ctx.text))


def fallback_title(text: str) -> str:
    """Return the title of a message for which no model gave one."""
    return title_from_text(unfence_text(text)) or UNTITLED


def title_from_text(text: str) -> str:
    """Return the first line without quotation marks, Markdown and invisible characters, cut at a word boundary."""
    first = next((line for line in text.splitlines() if line.strip(_STRIPPED_CHARACTERS)), "")
    title = remove_invisible(first).strip(_STRIPPED_CHARACTERS)
    if len(title) <= MAX_TITLE_CHARACTERS:
        return title
    cut = title[: MAX_TITLE_CHARACTERS - 1]
    head, space, _ = cut.rpartition(" ")
    return (head if space else cut).rstrip(_STRIPPED_CHARACTERS) + "…"
