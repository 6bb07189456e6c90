"""Sessions of an export of Sophon: of `sophon sessions export`, of the HTTP API, and lines of that of a person."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final, get_args

from sophon.errors import InputError
from sophon.messages import Message
from sophon.stores.sessions.contract import RecordKind, SessionRecord
from sophon.turn.option_checks import parse_planning_mode
from sophon_hosting.features.imports.conversation import Conversation, UnreadableConversation, time_from_text

ROLES: Final = ("user", "assistant", "tool")


def parse_exported_session(item: Mapping[str, Any]) -> Conversation:
    """Return a session of an export, without its task ids: the tasks are not part of it.

    Raises UnreadableConversation.
    """
    summary: Mapping[str, Any] = item.get("session") or item
    try:
        source_id, title, model = summary["id"], summary["title"], summary.get("model")
        if not (isinstance(source_id, str) and source_id and isinstance(title, str) and isinstance(model, str | None)):
            raise ValueError("a session needs an id and a title, both texts")  # noqa: TRY301 - reported like the others
        records = [replace(parse_exported_record(each), run_id="") for each in item["records"]]
        _check_compactions(records)
        return Conversation(
            "sophon",
            source_id,
            title,
            time_from_text(summary.get("created_at")),
            time_from_text(summary.get("updated_at")),
            records,
            model,
            parse_planning_mode(summary.get("planning")),
            summary.get("pinned") is True,
            summary.get("archived") is True,
        )
    except (InputError, KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        problem = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)
        raise UnreadableConversation(problem) from None


def parse_exported_record(item: Mapping[str, Any]) -> SessionRecord:
    """Return a record of an export. Raises ValueError, KeyError, TypeError, AttributeError."""
    kind, message, data = item["kind"], item["message"], dict[str, Any](item.get("data") or {})
    if kind not in get_args(RecordKind):
        raise ValueError(f"{kind!r} is no kind of record")
    # A summary replaces messages of a conversation: one of the role system would be an instruction of the host.
    if message is not None and message["role"] not in (("user",) if kind == "compaction" else ROLES):
        raise ValueError(f"a message of the role {message['role']!r} is no part of a session")
    if message is None and kind in ("message", "compaction"):
        raise ValueError(f"a record of kind {kind!r} needs a message")
    at = datetime.fromisoformat(item["at"]) if item["at"] else None
    if at is not None and at.tzinfo is None:
        raise ValueError(f"the time {item['at']!r} has no zone")
    parsed = None if message is None else Message.from_json(message)
    return SessionRecord(kind, str(item["run_id"]), _check_message(parsed), data, at=at)


def _check_compactions(records: Sequence[SessionRecord]) -> None:
    """Raise ValueError for a summary that replaces other messages than those before it."""
    count = 0
    for record in records:
        covers = record.data.get("covers")
        if record.kind == "message":
            count += 1
        elif record.kind == "compaction" and not (isinstance(covers, int) and 0 <= covers <= count):
            raise ValueError(f"a summary covers {covers!r} messages, and {count} come before it")


def _check_message(message: Message | None) -> Message | None:
    """Raise TypeError for a message whose fields have other types than messages have."""
    if message is not None:
        texts = [message.content, message.origin, *(each.name for each in message.tool_calls)]
        texts += [each.id for each in message.tool_calls]
        texts += [] if message.tool_call_id is None else [message.tool_call_id]
        texts += [each.malformed for each in message.tool_calls if each.malformed is not None]
        texts += [text for each in message.attachments for text in (each.id, each.name, each.media_type)]
        texts += [] if message.reasoning is None else [message.reasoning.text, message.reasoning.model]
        if not all(isinstance(each, str) for each in texts):  # pyright: ignore[reportUnnecessaryIsInstance] - JSON
            raise TypeError("texts of a message are no texts")
        if not all(isinstance(each.arguments, Mapping) for each in message.tool_calls):  # pyright: ignore[reportUnnecessaryIsInstance] - JSON
            raise TypeError("the arguments of a tool call are no object")
    return message
