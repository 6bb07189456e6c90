"""Preparation of a history that was read from a database: what a turn needs of it is made off the event loop, once."""

from functools import partial

from sophon.context import Context
from sophon.models.gateway.message_preparation import PIECE_MESSAGES, is_worth_a_thread
from sophon.stores.sessions.contract import History
from sophon.transcript_validation import is_clean_history
from sophon_middlewares.outer.window.context_view import CACHED_COUNT_PREFIX

VALIDATED_PREFIX = "sound"
"""Key, in a session's `prefix_cache`, of the number of messages that were found valid."""


async def prepare_history(ctx: Context, history: History) -> None:
    """Count, serialise and validate the messages that no earlier turn has, in a worker thread if they are long.

    Only for a history that `is_decoded`: one in memory has nothing to prepare, because its messages are those of
    earlier turns. What was done is noted in `history.prefix_cache`, which the store keeps.
    """
    await _validate(ctx, history)
    await _count(ctx, history)


async def _validate(ctx: Context, history: History) -> None:
    messages = history.messages
    known, _ = history.prefix_cache.get(VALIDATED_PREFIX, (0, 0))
    if len(messages) - known <= PIECE_MESSAGES:
        return  # the turn does it
    if await ctx.services.clock.run_in_thread(partial(is_clean_history, messages, known)):
        history.prefix_cache[VALIDATED_PREFIX] = (len(messages), 1)


async def _count(ctx: Context, history: History) -> None:
    gateway, messages = ctx.services.gateway, history.messages
    counter = gateway.tokens.name
    known, tokens = history.prefix_cache.get(CACHED_COUNT_PREFIX + counter, (0, 0))
    if is_worth_a_thread(messages, known):
        tokens += await gateway.prepare_messages(messages[known:])
        if gateway.tokens.name == counter:
            history.prefix_cache[CACHED_COUNT_PREFIX + counter] = (len(messages), tokens)
    if is_worth_a_thread(ctx.messages, ctx.recorded):
        await gateway.prepare_messages(ctx.messages[ctx.recorded :])
