"""Entities of a message: how many Telegram makes of styled text, and how many one message may have.

Telegram formats only the first 100 entities of a message and answers ENTITIES_TOO_LONG to more than about 9,500 bytes
of them, which long URLs reach (tdlib/telegram-bot-api issue 165). What Telegram finds by itself (URLs, mentions,
hashtags, commands, addresses) counts too.
"""

import re
from collections.abc import Iterator, Sequence

from sophon_channels.telegram.html import html_tags
from sophon_channels.text.span_budget import SpanBudget, WeightedSpan
from sophon_channels.text.styled_text import StyledRun

MAX_ENTITIES = 100
"""Entities of one message."""
MAX_ENTITY_BYTES = 9000
"""Bytes of all entities of one message, with their URLs."""

_BYTES_PER_WEIGHT = MAX_ENTITY_BYTES // MAX_ENTITIES
_ENTITY_BYTES = 24
"""Bytes of an entity without its URL, estimated."""
# An address and a domain begin where a word begins: from every character of a long word, the rest would be read again.
_FOUND_BY_TELEGRAM = re.compile(
    r"(?:https?://|www\.)\S+|[@#$/]\w+"
    r"|(?<![\w.+-])[\w.+-]++@[\w.-]+"
    r"|(?<![\w-])[\w-]++(?:\.[\w-]++)+(?:/\S*)?"
)


def build_entity_budget(runs: Sequence[StyledRun]) -> SpanBudget:
    """Return the entities of the runs, as positions in their text, with the budget of one message. Pure."""
    return SpanBudget(list(find_entities(runs)), MAX_ENTITIES)


def find_entities(runs: Sequence[StyledRun]) -> Iterator[WeightedSpan]:
    """Yield a span for each tag that the HTML of the runs opens, and for what Telegram finds in the text outside code.
    Pure.
    """
    position = 0
    is_open: list[tuple[str, int]] = []  # opening tag, position
    for run in runs:
        required = html_tags(run.style)
        shared = 0
        while shared < min(len(is_open), len(required)) and is_open[shared][0] == required[shared]:
            shared += 1
        yield from (_entity(tag, start, position) for tag, start in is_open[shared:])
        is_open[shared:] = [(tag, position) for tag in required[shared:]]
        if not run.style.code and run.style.code_block_language is None and run.style.link is None:
            for found in _FOUND_BY_TELEGRAM.finditer(run.text):
                yield WeightedSpan(position + found.start(), position + found.end())
        position += len(run.text)
    yield from (_entity(tag, start, position) for tag, start in is_open)


def _entity(tag: str, start: int, end: int) -> WeightedSpan:
    size = _ENTITY_BYTES + (len(tag.encode("utf-8", "surrogatepass")) if tag.startswith("<a ") else 0)
    return WeightedSpan(start, end, -(-size // _BYTES_PER_WEIGHT))
