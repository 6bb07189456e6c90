"""Steps of shortening a long conversation: each in a worker thread, so that the event loop runs between two of them.

A thread that runs Python code makes the loop wait for the interpreter's lock, so no step takes longer than about a
millisecond for 4,000 messages. Nobody changes the messages meanwhile, because their turn waits for the step.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from sophon.clock import Clock
from sophon.messages import Message

MAX_INLINE_MESSAGES = 200
"""Messages up to which a step runs where it is needed, because a thread would cost more."""

PIECE_MESSAGES = 128

T = TypeVar("T")


async def run_step(clock: Clock, messages: Sequence[Message], step: Callable[[], T]) -> T:
    """Run a step whose work grows with the number of `messages`; in a worker thread if these are many."""
    return step() if len(messages) <= MAX_INLINE_MESSAGES else await clock.run_in_thread(step)


def split_into_pieces(messages: Sequence[Message]) -> Iterator[Sequence[Message]]:
    """Yield consecutive slices of at most `PIECE_MESSAGES`."""
    for first in range(0, len(messages), PIECE_MESSAGES):
        yield messages[first : first + PIECE_MESSAGES]
