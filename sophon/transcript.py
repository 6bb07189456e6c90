"""The one shape that every provider accepts: each tool call has exactly one result, right behind its message."""

from collections.abc import Sequence
from dataclasses import replace

from sophon.messages import Message, ToolCall

LOST_RESULT = "error: the result of this call was lost; its outcome is unknown"


def faults(messages: Sequence[Message]) -> list[str]:
    """What is wrong with a transcript, a line per fault; empty for one that any provider accepts.

    System messages stand in front; the results of a message's calls follow it at once, one per call, in any order;
    call ids are unique among the calls of one message.
    """
    found: list[str] = []
    awaited: dict[str, str] = {}
    in_front = True
    for index, message in enumerate(messages):
        if message.role == "tool":
            in_front = False
            if message.tool_call_id not in awaited:
                found.append(f"message {index} answers {message.tool_call_id!r}, which no call before it awaits")
            else:
                del awaited[message.tool_call_id]
            continue
        for call_id, name in awaited.items():
            found.append(f"message {index} comes before the result of {name} ({call_id!r})")
        awaited = {call.id: call.name for call in message.tool_calls}
        found += _faults_of(index, message, in_front)
        in_front = in_front and message.role == "system"
    for call_id, name in awaited.items():
        found.append(f"the transcript ends before the result of {name} ({call_id!r})")
    if not any(message.role == "user" for message in messages):
        found.append("there is no user message")
    return found


def is_sound(messages: Sequence[Message], start: int = 0) -> bool:
    """Whether there are no faults from an index on, which must not lie between a call and its results.

    Whether there is a user message is not asked.
    """
    awaited: set[str | None] = set()
    in_front = not start or messages[start - 1].role == "system"
    for index in range(start, len(messages)):
        message = messages[index]
        if message.role == "tool":
            if message.tool_call_id not in awaited:
                return False
            awaited.discard(message.tool_call_id)
            in_front = False
        elif awaited or (message.role == "system" and not in_front):
            return False
        else:
            in_front = in_front and message.role == "system"
            if message.tool_calls:
                awaited = {call.id for call in message.tool_calls}
                if message.role != "assistant" or len(awaited) < len(message.tool_calls):
                    return False
    return not awaited


def repaired(messages: Sequence[Message], start: int = 0) -> list[Message]:
    """The messages from `start` on as any provider accepts them; they may have lost results, or have some to spare.

    A missing result is replaced by one that says so; a result without a call, or a second one, is dropped; one that
    stands too late is moved behind its call; of calls with one id in one message the first is kept, and of one that is
    not the assistant's none; a system message behind others becomes a note.
    """
    in_front = not start or messages[start - 1].role == "system"
    kept: list[Message] = []
    results = _results_by_call(messages, start)
    for index in range(start, len(messages)):
        message = messages[index]
        if message.role == "tool":
            in_front = False
            continue
        if message.role == "system" and not in_front:
            message = Message("user", message.content, origin="hint")
        in_front = in_front and message.role == "system"
        calls = _own_calls(message)
        if len(calls) < len(message.tool_calls):
            message = replace(message, tool_calls=calls)
        kept.append(message)
        for call in calls:
            kept.append(results.get((index, call.id)) or Message("tool", LOST_RESULT, tool_call_id=call.id))
    return kept


def _faults_of(index: int, message: Message, in_front: bool) -> list[str]:
    found: list[str] = []
    if len({call.id for call in message.tool_calls}) < len(message.tool_calls):
        found.append(f"message {index} has two calls with one id")
    if message.tool_calls and message.role != "assistant":
        found.append(f"message {index} has tool calls and role {message.role!r}")
    if message.role == "system" and not in_front:
        found.append(f"message {index} is a system message behind others")
    return found


def _own_calls(message: Message) -> list[ToolCall]:
    if not message.tool_calls or message.role != "assistant":
        return []
    calls = {call.id: call for call in reversed(message.tool_calls)}
    return message.tool_calls if len(calls) == len(message.tool_calls) else list(reversed(calls.values()))


def _results_by_call(messages: Sequence[Message], start: int) -> dict[tuple[int, str], Message]:
    """(index of the message, id of its call) -> the first result behind it, before a later call has the same id."""
    results: dict[tuple[int, str], Message] = {}
    behind: dict[str | None, Message] = {}
    for index in range(len(messages) - 1, start - 1, -1):
        message = messages[index]
        if message.role == "tool":
            behind[message.tool_call_id] = message
            continue
        for call in _own_calls(message):
            result = behind.pop(call.id, None)
            if result is not None:
                results[index, call.id] = result
    return results
