"""Message preparation: tokens and provider JSON of stored messages, made in a worker thread before a turn needs them.

Both are cached on the message. A thread that runs Python code holds up the event loop, which waits for the
interpreter's lock; the work is therefore divided into pieces, between which the loop runs. A model takes part with an
optional method `prepare_message(message)`, which is called in the thread.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from sophon.clock import Clock
from sophon.messages import Message
from sophon.models.token_counter import TokenCounter

PIECE_CHARACTERS = 96 * 1024
"""Characters of a piece: about 10 ms in the tokenizer, which releases the lock, and 0.5 ms that hold it."""
PIECE_MESSAGES = 256
MAX_INLINE_CHARACTERS = 2048
"""Characters that are counted where they are needed, because a thread would cost more: 0.2 ms in the tokenizer."""

PrepareMessage = Callable[[Message], None]


async def prepare_messages(
    messages: Sequence[Message], tokens: TokenCounter, prepare: Sequence[PrepareMessage], clock: Clock
) -> int:
    """Count and serialise messages in a worker thread; return their tokens together."""
    total = 0
    for piece in split_into_pieces(messages):
        total += await clock.run_in_thread(partial(_prepare_piece, piece, tokens, prepare))
    return total


def is_worth_a_thread(messages: Sequence[Message], start: int) -> bool:
    """Return whether the messages from `start` on are too long to be counted where they are needed."""
    characters = 0
    for index in range(start, len(messages)):
        characters += _count_characters(messages[index])
        if characters > MAX_INLINE_CHARACTERS:
            return True
    return False


def split_into_pieces(messages: Sequence[Message]) -> Iterator[Sequence[Message]]:
    """Yield consecutive slices of `PIECE_CHARACTERS` and `PIECE_MESSAGES` at most, each of one message at least."""
    first, characters = 0, 0
    for index, message in enumerate(messages):
        length = _count_characters(message)
        if index > first and (characters + length > PIECE_CHARACTERS or index - first == PIECE_MESSAGES):
            yield messages[first:index]
            first, characters = index, 0
        characters += length
    if first < len(messages):
        yield messages[first:]


def _count_characters(message: Message) -> int:
    # 16: a message is work, however short it is.
    return 16 + len(message.content) + sum(len(call.canonical_arguments()) for call in message.tool_calls)


def _prepare_piece(messages: Sequence[Message], tokens: TokenCounter, prepare: Sequence[PrepareMessage]) -> int:
    total = 0
    for message in messages:
        for function in prepare:
            function(message)
        total += tokens.count_message(message)  # releases the lock, so that it is never held for long
    return total
