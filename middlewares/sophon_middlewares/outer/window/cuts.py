"""Where a conversation may be cut: between rounds, so that no tool call is ever parted from its results."""

from collections.abc import Collection, Sequence

from sophon.messages import Message

FLOAT_SLACK = 1e-9
"""0.6 of 5 messages are 3, also where binary fractions say 2.9999."""


def rounds(messages: Sequence[Message], start: int = 0) -> list[range]:
    """The indexes from `start` on, in pieces that stay whole: a message, with the tool results right behind it."""
    pieces: list[range] = []
    for index in range(start, len(messages)):
        if messages[index].role == "tool" and pieces:
            pieces[-1] = range(pieces[-1].start, index + 1)
        else:
            pieces.append(range(index, index + 1))
    return pieces


def leading_systems(messages: Sequence[Message]) -> int:
    """How many system messages stand in front."""
    count = 0
    while count < len(messages) and messages[count].role == "system":
        count += 1
    return count


def last_user(messages: Sequence[Message]) -> int | None:
    """The index of the last message that a person wrote; of the last user message if none did."""
    written: int | None = None
    for index in range(len(messages) - 1, -1, -1):
        if messages[index].role == "user":
            if not messages[index].origin:
                return index
            written = index if written is None else written
    return written


def is_waiting(message: Message, waiting: Collection[str]) -> bool:
    """Whether one of the message's calls waits for a person."""
    return bool(waiting) and any(call.id in waiting for call in message.tool_calls)


def oldest(
    messages: Sequence[Message], start: int, share: float, *, summarised: bool = False, waiting: Collection[str] = ()
) -> int:
    """The index up to which messages from `start` on are the oldest `share` of them; `start` if none can be cut off.

    Rounds to the last place between two rounds that is not beyond the share, or, where that is `start` itself, to the
    first one behind it. The newest round always stays, and so does everything from the first round on in which a call
    is in `waiting`. A summary in front of them counts as one more message (`summarised`).
    """
    wanted = start - summarised + int(share * (len(messages) - start + summarised) + FLOAT_SLACK)
    cut = start
    for piece in rounds(messages, start)[:-1]:
        if is_waiting(messages[piece.start], waiting) or (piece.stop > wanted and cut > start):
            break
        cut = piece.stop
    return cut
