"""Earlier texts of a turn: the size of what the model wrote before its tool calls, which counts towards its answer."""

from collections.abc import Sequence

from sophon.messages import Message
from sophon.models.reply_size import count_utf8_bytes
from sophon.reply_text import begins_turn, collect_earlier_texts, is_earlier_text


class EarlierTextSize:
    """Size of a turn's earlier texts, counted on with each round: a round costs what it has added.

    It counts anew from the beginning of the turn if the last message that it has seen is no longer where it was.
    """

    __slots__ = ("_bytes", "_last", "_seen")

    def __init__(self) -> None:
        self._bytes = 0
        self._seen = 0
        self._last: Message | None = None

    def count_bytes(self, messages: Sequence[Message]) -> int:
        """Return the bytes, in UTF-8, of `collect_earlier_texts(messages)`."""
        seen, length = self._seen, len(messages)
        if not 0 < seen <= length or messages[seen - 1] is not self._last:
            earlier = collect_earlier_texts(messages)
            self._bytes = sum(map(count_utf8_bytes, earlier)) if earlier else 0
        else:
            for index in range(seen, length):
                message = messages[index]
                if message.role == "user":
                    if begins_turn(message):
                        self._bytes = 0
                elif message.content and is_earlier_text(message):  # in a long turn nearly none has a text
                    self._bytes += count_utf8_bytes(message.content)
        self._seen, self._last = length, messages[-1] if messages else None
        return self._bytes
