"""Validation and repair of transcripts: each tool call must have exactly one result, directly after its message."""

from collections.abc import Sequence
from dataclasses import replace

from sophon.messages import Message, ToolCall

LOST_RESULT_TEXT = "error: the result of this call was lost; its outcome is unknown"


def find_transcript_faults(messages: Sequence[Message]) -> list[str]:
    """Return the faults of a transcript, one line each; empty for a transcript that every provider accepts.

    System messages must come first; the results of a message's calls must follow it directly, one per call, in any
    order; call ids must be unique among the calls of one message.
    """
    found: list[str] = []
    open_calls: dict[str, str] = {}
    is_leading = True
    for index, message in enumerate(messages):
        if message.role == "tool":
            is_leading = False
            if message.tool_call_id not in open_calls:
                found.append(f"message {index} is a result for {message.tool_call_id!r}, and no open call has this id")
            else:
                del open_calls[message.tool_call_id]
            continue
        for call_id, name in open_calls.items():
            found.append(f"message {index} comes before the result of {name} ({call_id!r})")
        open_calls = {call.id: call.name for call in message.tool_calls}
        found += _find_message_faults(index, message, is_leading)
        is_leading = is_leading and message.role == "system"
    for call_id, name in open_calls.items():
        found.append(f"the transcript ends before the result of {name} ({call_id!r})")
    if not any(message.role == "user" for message in messages):
        found.append("there is no user message")
    return found


def is_valid_transcript(messages: Sequence[Message], start: int = 0) -> bool:
    """Return whether the transcript has no faults from `start` on; `start` must not lie between a call and its results.

    Unlike `find_transcript_faults` it does not require a user message.
    """
    open_calls: set[str | None] = set()
    is_leading = not start or messages[start - 1].role == "system"
    for index in range(start, len(messages)):
        message = messages[index]
        if message.role == "tool":
            if message.tool_call_id not in open_calls:
                return False
            open_calls.discard(message.tool_call_id)
            is_leading = False
        elif open_calls or (message.role == "system" and not is_leading):
            return False
        else:
            is_leading = is_leading and message.role == "system"
            if message.tool_calls:
                open_calls = {call.id for call in message.tool_calls}
                if message.role != "assistant" or len(open_calls) < len(message.tool_calls):
                    return False
    return not open_calls


def repair_transcript(messages: Sequence[Message], start: int = 0) -> list[Message]:
    """Return the messages from `start` on, repaired so that every provider accepts them.

    A missing result is replaced by `LOST_RESULT_TEXT`; a result without a call, or a second one, is dropped; a late
    result is moved directly after its call; of several calls with one id in one message the first is kept; calls of a
    message that is not the assistant's are dropped; a system message after others becomes a user message of origin
    `hint`.
    """
    is_leading = not start or messages[start - 1].role == "system"
    kept: list[Message] = []
    results = _results_by_call(messages, start)
    for index in range(start, len(messages)):
        message = messages[index]
        if message.role == "tool":
            is_leading = False
            continue
        if message.role == "system" and not is_leading:
            message = Message(
                "user", message.content, origin="hint", images=message.images, attachments=message.attachments
            )
        is_leading = is_leading and message.role == "system"
        calls = _unique_calls(message)
        if len(calls) < len(message.tool_calls):
            message = replace(message, tool_calls=calls)
        kept.append(message)
        for call in calls:
            kept.append(results.get((index, call.id)) or Message("tool", LOST_RESULT_TEXT, tool_call_id=call.id))
    return kept


def _find_message_faults(index: int, message: Message, is_leading: bool) -> list[str]:
    found: list[str] = []
    if len({call.id for call in message.tool_calls}) < len(message.tool_calls):
        found.append(f"message {index} has two calls with one id")
    if message.tool_calls and message.role != "assistant":
        found.append(f"message {index} has tool calls and role {message.role!r}")
    if message.role == "system" and not is_leading:
        found.append(f"message {index} is a system message after other messages")
    return found


def _unique_calls(message: Message) -> list[ToolCall]:
    if not message.tool_calls or message.role != "assistant":
        return []
    calls = {call.id: call for call in reversed(message.tool_calls)}
    return message.tool_calls if len(calls) == len(message.tool_calls) else list(reversed(calls.values()))


def _results_by_call(messages: Sequence[Message], start: int) -> dict[tuple[int, str], Message]:
    """(message index, call id) -> the first result after it and before a later call with the same id."""
    results: dict[tuple[int, str], Message] = {}
    later_results: dict[str | None, Message] = {}
    for index in range(len(messages) - 1, start - 1, -1):
        message = messages[index]
        if message.role == "tool":
            later_results[message.tool_call_id] = message
            continue
        for call in _unique_calls(message):
            result = later_results.pop(call.id, None)
            if result is not None:
                results[index, call.id] = result
    return results


def is_internal(message: Message) -> bool:
    """Return whether neither a person nor the model wrote a message: a note to the model, such as a correction."""
    return message.origin == "hint" and not message.tool_calls and message.role != "tool"


def is_clean_history(messages: Sequence[Message], start: int = 0) -> bool:
    """Return whether a history is valid from `start` on, and has no internal message there."""
    hints = (messages[at] for at in range(start, len(messages)) if messages[at].origin == "hint")
    return not any(map(is_internal, hints)) and is_valid_transcript(messages, start)


def clean_history(messages: Sequence[Message]) -> list[Message]:
    """Return a history without internal messages, which served their own turn only, and repaired."""
    return repair_transcript([message for message in messages if not is_internal(message)])
