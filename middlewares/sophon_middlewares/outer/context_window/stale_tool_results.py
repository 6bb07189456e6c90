"""Stale tool results: those of old turns are replaced by a summary in the model's view; what is stored stays.

Source: OpenParallax. A turn begins with a message of the user. There a result is replaced as soon as
it is four turns old, so that no prompt cache finds what is behind it in any turn. Here several turns are replaced at
once, when the newest of them is four turns old. A result that is replaced once stays so, because turns only grow.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

from sophon.context import Context
from sophon.messages import Message
from sophon.models.model import ModelRequest
from sophon_middlewares.outer.context_window.conversation_cut_points import count_leading_system_messages
from sophon_middlewares.outer.context_window.old_result_summary import summarise_result
from sophon_middlewares.outer.context_window.threaded_steps import MAX_INLINE_MESSAGES, run_step, split_into_pieces

TURNS_FACT: Final = "stale_results.turns"
"""Key, in `ctx.prefix_cache`, of the number of turns that begin in the first n stored messages."""
END_FACT: Final = "stale_results.end."
"""Prefix of the key, followed by both settings, of the end of the stale messages, and the number of turns before it."""
SAVED_FACT: Final = "stale_results.saved."
"""Prefix of the key, followed by both settings and the counter, of the tokens that the first n messages save."""


class StaleResults:
    """Replacement of one turn's stale results. What a turn replaces is decided at its first request.

    A request costs one copy of its list; the first one a scan of the messages that became stale since the last turn,
    and of the list in front of them, in a worker thread if it is long. Results of the present turn are never replaced.
    """

    __slots__ = ("_counter", "_ctx", "_end_fact", "_last", "_prefix", "_saved", "_step", "_turns")

    def __init__(self, ctx: Context, turns: int, step: int | None) -> None:
        self._ctx, self._turns, self._step = ctx, turns, step
        self._end_fact = f"{END_FACT}{turns}.{step}"
        self._prefix: list[Message] | None = None
        self._last: Message | None = None
        self._saved, self._counter = 0, ""

    async def replace(self, request: ModelRequest) -> ModelRequest:
        """Return the request with summaries in place of stale results; the request itself if there are none."""
        messages, prefix = request.messages, self._prefix
        if prefix is None or not self._is_continued_by(messages, prefix):
            if len(self._ctx.messages) > MAX_INLINE_MESSAGES:
                await self._summarise_in_steps()
            if len(messages) > MAX_INLINE_MESSAGES:
                prefix = await self._ctx.services.clock.run_in_thread(partial(self._build_prefix, messages))
            else:
                prefix = self._build_prefix(messages)
            self._prefix = prefix
        if not self._saved:
            return request
        return request.copy_with(messages=[*prefix, *messages[len(prefix) :]])

    def count_saved(self, counter: str) -> tuple[int, int | None]:
        """Return the number of leading messages of a request in which results are replaced, and the tokens that this
        saves; None for these if they were counted with another counter.
        """
        if not self._saved or self._prefix is None:
            return 0, 0
        return len(self._prefix), self._saved if counter == self._counter else None

    def _is_continued_by(self, messages: Sequence[Message], prefix: Sequence[Message]) -> bool:
        end = len(prefix)
        return not end or (end <= len(messages) and messages[end - 1] is self._last)

    async def _summarise_in_steps(self) -> None:
        """Make the summaries of what became stale, which after a restart are those of a whole history, in steps."""
        own, clock = self._ctx.messages, self._ctx.services.clock
        start, earlier = self._ctx.prefix_cache.get(self._end_fact, (0, 0)) if not self._ctx.depth else (0, 0)
        first = count_leading_system_messages(own) + start
        if len(own) - first <= MAX_INLINE_MESSAGES:
            return  # one step does it
        turns = earlier + await run_step(clock, own, partial(count_turns, own, first, len(own)))
        stale = max(count_stale_turns(turns, self._turns, self._step) - earlier, 0)
        end = await run_step(clock, own, partial(find_turn, own, first, stale)) if stale else first
        names: dict[str, str] = {}
        for piece in split_into_pieces(own[first:end]):
            await run_step(clock, own, partial(_summarise_piece, piece, names))

    def _build_prefix(self, messages: Sequence[Message]) -> list[Message]:
        """Return the stale messages with summaries, and note the tokens that this saves.

        [] if the request does not begin with the turn's own messages: what another layer has rewritten stays.
        """
        own, tokens = self._ctx.messages, self._ctx.services.gateway.tokens
        facts: dict[str, tuple[int, int]] = self._ctx.prefix_cache if not self._ctx.depth else {}
        front, stored = count_leading_system_messages(own), self._ctx.stored_count
        known, before = facts.get(TURNS_FACT, (0, 0))
        known_turns = before + count_turns(own, front + known, front + stored)
        turns = known_turns + count_turns(own, front + stored, len(own))
        end_name, saved_name = self._end_fact, f"{SAVED_FACT}{self._turns}.{self._step}.{tokens.name}"
        start, earlier = facts.get(end_name, (0, 0))
        stale = count_stale_turns(turns, self._turns, self._step)
        end = front + start if stale <= earlier else find_turn(own, front + start, stale - earlier)
        prefix = replace_results(own, end) if stale else []
        counted, saved = facts.get(saved_name, (0, 0))
        saved += count_saved(own, prefix, front + counted, end, tokens.count_message) if prefix else 0
        facts |= {TURNS_FACT: (stored, known_turns), end_name: (end - front, stale), saved_name: (end - front, saved)}
        offset = count_leading_system_messages(messages) - front
        last = offset + end - 1
        if not prefix or not 0 <= last < len(messages) or messages[last] is not own[end - 1]:
            prefix, saved = [], 0
        else:
            prefix, self._last = [*messages[: front + offset], *prefix[front:]], messages[last]
        self._saved, self._counter = saved, tokens.name
        return prefix


def count_stale_turns(turns: int, age: int, step: int | None = None) -> int:
    """Return how many of the oldest turns are stale; all are at least `age` turns old, and one that is `age + step`
    turns old is among them.

    With a step the first turn is replaced by itself, as soon as it is old enough; without one a multiple of `age`.
    """
    old_enough = turns - age
    if old_enough <= 0:
        return 0
    return old_enough // age * age if step is None else old_enough - (old_enough - 1) % step


def count_turns(messages: Sequence[Message], start: int, end: int) -> int:
    """Return the number of turns that begin in `messages[start:end]`."""
    return sum(each.role == "user" and not each.origin for each in messages[start:end])


def find_turn(messages: Sequence[Message], start: int, turns: int) -> int:
    """Return the index behind the first `turns` turns from `start` on: where the next one begins."""
    seen = 0
    for index in range(start, len(messages)):
        if messages[index].role == "user" and not messages[index].origin:
            if seen == turns:
                return index
            seen += 1
    return len(messages)


def replace_results(messages: Sequence[Message], end: int) -> list[Message]:
    """Return the first `end` messages with summaries of the tool results; each summary is made once."""
    names: Mapping[str, str] = {}
    replaced: list[Message] = []
    for message in messages[:end]:
        if message.role == "tool":
            replaced.append(message.shortened or _shorten(message, names))
            continue
        if message.tool_calls:
            names = {call.id: call.name for call in message.tool_calls}
        replaced.append(message)
    return replaced


def count_saved(
    messages: Sequence[Message], replaced: Sequence[Message], start: int, end: int, count: Callable[[Message], int]
) -> int:
    """Return the tokens that the replacement saves in `messages[start:end]`."""
    pairs = zip(messages[start:end], replaced[start:end], strict=True)
    return sum(count(message) - count(other) for message, other in pairs if other is not message)


def _shorten(message: Message, names: Mapping[str, str]) -> Message:
    """Return the message with its summary, cached on it; the message itself if that is no shorter."""
    text = summarise_result(names.get(message.tool_call_id or "", "a tool"), message.content, origin=message.origin)
    shortened = message
    if len(text) < len(message.content):
        shortened = Message("tool", text, tool_call_id=message.tool_call_id, origin=message.origin)
    object.__setattr__(message, "shortened", shortened)
    return shortened


def _summarise_piece(piece: Sequence[Message], names: dict[str, str]) -> None:
    """Make the summaries of a piece; `names` are those of the calls before it, and afterwards of its last ones."""
    for message in piece:
        if message.tool_calls:
            names.clear()
            names.update((call.id, call.name) for call in message.tool_calls)
        elif message.role == "tool" and message.shortened is None:
            _shorten(message, names)
