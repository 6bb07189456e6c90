"""Messages between host processes: calls and replies, beats and greetings, as JSON."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any, cast

from sophon_hosting.queue.contract import DeadLetter, Delivery, QueueEntry, QueueStatistics
from sophon_hosting.queue.errors import QueueFull, QueueUnavailable

_TYPE, _VALUE = "$type", "$value"
_CLASSES: Mapping[str, type[Any]] = {each.__name__: each for each in (QueueEntry, QueueStatistics)}


def encode_message(fields: Mapping[str, object]) -> bytes:
    """Return the body of a message; a value may be plain, a list, or a class of the queue's contract."""
    return json.dumps({key: _encode(value) for key, value in fields.items()}).encode()


def decode_message(body: bytes) -> dict[str, Any]:
    """Return the fields of a message. Raises ValueError if it is none of ours."""
    try:
        fields = cast("dict[str, Any]", json.loads(body))
        return {key: _decode(value) for key, value in fields.items()}
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not a message of a task queue: {error!r}") from error


def encode_error(error: Exception) -> dict[str, Any]:
    """Return the fields of an error that an operation raised."""
    if isinstance(error, QueueFull):
        return {
            "capacity": error.capacity,
            "retry_after_seconds": error.retry_after_seconds,
            "owner_waiting": error.owner_waiting,
        }
    return {"reason": error.reason if isinstance(error, QueueUnavailable) else repr(error)}


def decode_error(fields: Mapping[str, Any], queue: str) -> QueueFull | QueueUnavailable:
    """Return the error with these fields; one that is not QueueFull is QueueUnavailable for the queue of this name."""
    if "capacity" in fields:
        return QueueFull(
            fields["capacity"], fields["retry_after_seconds"], owner_waiting=cast("int | None", fields["owner_waiting"])
        )
    return QueueUnavailable(queue, str(fields["reason"]))


def _encode(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_encode(each) for each in cast("list[Any]", value)]
    if isinstance(value, Delivery):
        return {_TYPE: "Delivery", _VALUE: [_encode(value.entry), value.fencing_token, value.delivery_count]}
    if isinstance(value, DeadLetter):
        return {_TYPE: "DeadLetter", _VALUE: [_encode(value.entry), value.delivery_count, value.died_at.isoformat()]}
    if isinstance(value, QueueEntry | QueueStatistics):
        return {_TYPE: type(value).__name__, _VALUE: asdict(value)}
    return value


def _decode(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_decode(each) for each in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    fields = cast("dict[str, Any]", value)
    if _TYPE not in fields:
        return fields
    content = fields[_VALUE]
    if fields[_TYPE] == "Delivery":
        return Delivery(_decode(content[0]), content[1], content[2])
    if fields[_TYPE] == "DeadLetter":
        return DeadLetter(_decode(content[0]), content[1], datetime.fromisoformat(content[2]))
    return _CLASSES[fields[_TYPE]](**content)
