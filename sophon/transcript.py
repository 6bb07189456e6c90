"""The one shape that every provider accepts: each tool call has exactly one result, right behind its message."""

from collections.abc import Sequence

from sophon.messages import Message, ToolCall

LOST_RESULT = "error: the result of this call was lost; its outcome is unknown"


def faults(messages: Sequence[Message]) -> list[str]:
    """What is wrong with a transcript, a line per fault; empty for one that any provider accepts.

    System messages stand in front; the results of a message's calls follow it at once, one per call, in any order;
    call ids are unique among the calls of one message.
    """
    found: list[str] = []
    awaited: dict[str, str] = {}
    for index, message in enumerate(messages):
        if message.role == "tool":
            if message.tool_call_id not in awaited:
                found.append(f"message {index} answers {message.tool_call_id!r}, which no call before it awaits")
            else:
                del awaited[message.tool_call_id]
            continue
        for call_id, name in awaited.items():
            found.append(f"message {index} comes before the result of {name} ({call_id!r})")
        awaited = {call.id: call.name for call in message.tool_calls}
        if len(awaited) < len(message.tool_calls):
            found.append(f"message {index} has two calls with one id")
        if message.tool_calls and message.role != "assistant":
            found.append(f"message {index} has tool calls and role {message.role!r}")
        if message.role == "system" and any(other.role != "system" for other in messages[:index]):
            found.append(f"message {index} is a system message behind others")
    for call_id, name in awaited.items():
        found.append(f"the transcript ends before the result of {name} ({call_id!r})")
    if not any(message.role == "user" for message in messages):
        found.append("there is no user message")
    return found


def is_sound(messages: Sequence[Message], start: int = 0) -> bool:
    """Whether calls and results pair up from an index on, which must not lie between a call and its results."""
    awaited: set[str | None] = set()
    for index in range(start, len(messages)):
        message = messages[index]
        if message.role == "tool":
            if message.tool_call_id not in awaited:
                return False
            awaited.discard(message.tool_call_id)
        elif awaited:
            return False
        elif message.tool_calls:
            awaited = {call.id for call in message.tool_calls}
            if len(awaited) < len(message.tool_calls):
                return False
    return not awaited


def repaired(messages: Sequence[Message]) -> list[Message]:
    """A transcript that any provider accepts, from one that may have lost results, or have some to spare.

    A missing result is replaced by one that says so; a result without a call, or a second one, is dropped; one that
    stands too late is moved behind its call.
    """
    kept: list[Message] = []
    for index, message in enumerate(messages):
        if message.role == "tool":
            continue
        kept.append(message)
        if message.tool_calls:
            kept += [_result_of(call, messages, index) for call in message.tool_calls]
    return kept


def _result_of(call: ToolCall, messages: Sequence[Message], index: int) -> Message:
    for later in range(index + 1, len(messages)):
        message = messages[later]
        if message.role == "tool" and message.tool_call_id == call.id:
            return message
        if any(other.id == call.id for other in message.tool_calls):
            break
    return Message("tool", LOST_RESULT, tool_call_id=call.id)
