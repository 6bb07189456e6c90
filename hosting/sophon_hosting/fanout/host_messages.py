"""Messages between host processes: hints, which may be lost, and pieces of streams; their JSON form is compact.

A frame is a JSON object with the version `v`, the sending host `h` and its messages `m`, each an array of kind and
fields. A host ignores frames of another version and messages of a kind that it does not know: during a rolling restart
hosts of two versions run side by side. Fields that it does not know are ignored as well.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, replace
from functools import cache
from typing import Any, ClassVar, TypeAlias, cast, get_args

import orjson

from sophon._python.lazy_dataclass import dataclass
from sophon.settings.types.json_type_checks import is_list

FRAME_VERSION = 1


@dataclass(frozen=True, slots=True)
class HostMessage:
    """Base class. `kind` is the name on the wire; empty for what a fan-out tells its own host only."""

    kind: ClassVar[str] = ""
    is_of_session: ClassVar[bool] = False
    """Whether only hosts that watch its `session_id` receive it."""


@dataclass(frozen=True, slots=True)
class SessionAdvanced(HostMessage):
    """Hint: a session's event log has reached `seq`, with the last `count` events stored at once."""

    kind: ClassVar[str] = "advanced"
    is_of_session: ClassVar[bool] = True

    session_id: str
    seq: int
    count: int = 1


@dataclass(frozen=True, slots=True)
class StreamedText(HostMessage):
    """Piece of a reply while it is streamed, at `offset` characters of the text of `epoch`.

    `start` is the number of starts of the run (its fence): what an earlier start streams is out of date. `after_seq` is
    the seq of the last durable event that was published before it.
    """

    kind: ClassVar[str] = "text"
    is_of_session: ClassVar[bool] = True

    session_id: str
    task_id: str
    run_id: str
    start: int
    epoch: int
    offset: int
    text: str
    after_seq: int = 0


@dataclass(frozen=True, slots=True)
class TransientEvent(HostMessage):
    """Another event that is not stored, with its wire name and payload; see `StreamedText`."""

    kind: ClassVar[str] = "transient"
    is_of_session: ClassVar[bool] = True

    session_id: str
    task_id: str
    start: int
    name: str
    data: Mapping[str, Any]
    after_seq: int = 0


@dataclass(frozen=True, slots=True)
class SnapshotWanted(HostMessage):
    """Question: who streams a reply of this session sends its text so far."""

    kind: ClassVar[str] = "snapshot"

    session_id: str


@dataclass(frozen=True, slots=True)
class RunSignalled(HostMessage):
    """Hint: the store has news for who runs or suspended this run; `reason` is a word such as `cancel`, `decision`."""

    kind: ClassVar[str] = "run"

    run_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class SessionRemoved(HostMessage):
    """Hint: a session was deleted."""

    kind: ClassVar[str] = "removed"

    session_id: str


@dataclass(frozen=True, slots=True)
class SessionLabelled(HostMessage):
    """Hint: what lists show of a session (title, pin, archive) has changed."""

    kind: ClassVar[str] = "labelled"

    session_id: str


@dataclass(frozen=True, slots=True)
class Wake(HostMessage):
    """Hint: whoever polls for `what` (`outbox`, `schedules`, `settings`, `attach:` and a channel) should look now."""

    kind: ClassVar[str] = "wake"

    what: str


@dataclass(frozen=True, slots=True)
class WatchStarted(HostMessage):
    """Of the fan-out to its own host: from now on the messages of a watched session arrive."""

    session_id: str


@dataclass(frozen=True, slots=True)
class HintsLost(HostMessage):
    """Of the fan-out to its own host: messages may have been lost; what they told must be read from the store."""


WireMessage: TypeAlias = (
    SessionAdvanced
    | StreamedText
    | TransientEvent
    | SnapshotWanted
    | RunSignalled
    | SessionRemoved
    | SessionLabelled
    | Wake
)
"""A message that is sent to other hosts."""

MESSAGE_TYPES: Mapping[str, type[HostMessage]] = {each.kind: each for each in get_args(WireMessage)}


@dataclass(frozen=True, slots=True)
class Frame:
    """Decoded messages of one host, in their order."""

    host_id: str
    messages: Sequence[HostMessage]


class UnreadableFrame(ValueError):
    """Error: the payload is no frame."""


def topic_of(message: HostMessage) -> str | None:
    """Return the session to whose watchers a message goes; None: to all hosts."""
    return cast("SessionAdvanced", message).session_id if message.is_of_session else None


def encode_message(message: HostMessage) -> bytes:
    """Return the JSON form of a message: an array of its kind and an object of its fields."""
    data = {name: getattr(message, name) for name in _field_names(message.kind)}
    return encode_json([message.kind, data])


def encode_frame(host_id: str, messages: Sequence[bytes]) -> bytes:
    """Return the frame of messages that are encoded already."""
    return b'{"v":%d,"h":"%s","m":[%s]}' % (FRAME_VERSION, host_id.encode(), b",".join(messages))


def frame_overhead(host_id: str) -> int:
    """Return the size of a frame without messages, in bytes."""
    return len(encode_frame(host_id, ()))


def decode_frame(payload: bytes) -> Frame | None:
    """Decode a frame; None for one of another version. Raises UnreadableFrame."""
    try:
        frame: Any = orjson.loads(payload)
    except orjson.JSONDecodeError:
        frame = _loads_leniently(payload)
    if not isinstance(frame, dict):
        raise UnreadableFrame("it is no JSON object")
    found = cast("dict[str, Any]", frame)
    version, host_id, messages = found.get("v"), found.get("h"), found.get("m")
    if isinstance(version, int) and version != FRAME_VERSION:
        return None
    if version is None or not isinstance(host_id, str) or not is_list(messages):
        raise UnreadableFrame("it has no version, host or messages")
    decoded = [_decode_message(each) for each in messages]
    return Frame(host_id, [each for each in decoded if each is not None])


def split_message(message: HostMessage, max_bytes: int) -> list[HostMessage]:
    """Return the pieces of a message that each fit `max_bytes` as JSON; none of one that cannot be divided.

    Only a streamed text can be divided.
    """
    if len(encode_message(message)) <= max_bytes:
        return [message]
    if not isinstance(message, StreamedText) or len(message.text) < 2:
        return []
    middle = len(message.text) // 2
    first = replace(message, text=message.text[:middle])
    second = replace(message, text=message.text[middle:], offset=message.offset + middle)
    return [*split_message(first, max_bytes), *split_message(second, max_bytes)]


def encode_json(value: Any) -> bytes:
    """Encode JSON data; a lone surrogate, which a model can produce, becomes an escape sequence."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value, separators=(",", ":")).encode()


def _loads_leniently(payload: bytes) -> Any:
    try:
        return json.loads(payload)  # which takes the escape sequence of a lone surrogate
    except ValueError:
        raise UnreadableFrame("it is no JSON") from None


def _decode_message(message: Any) -> HostMessage | None:
    if not is_list(message) or len(message) != 2:
        raise UnreadableFrame("a message is no pair of kind and fields")
    kind, data = message
    message_type = MESSAGE_TYPES.get(kind) if isinstance(kind, str) else None
    if message_type is None:
        return None
    if not isinstance(data, dict):
        raise UnreadableFrame("a message has no fields")
    given = cast("dict[str, Any]", data)
    values: dict[str, Any] = {}
    for name, expected in _field_types(message_type.kind).items():
        if name in given:
            if not isinstance(given[name], expected) or isinstance(given[name], bool):
                raise UnreadableFrame(f"a message of kind {message_type.kind} has a wrong {name}")
            values[name] = given[name]
        elif name in _required_names(message_type.kind):
            raise UnreadableFrame(f"a message of kind {message_type.kind} has no {name}")
    return message_type(**values)


@cache
def _field_names(kind: str) -> tuple[str, ...]:
    return tuple(field.name for field in fields(MESSAGE_TYPES[kind]))


@cache
def _field_types(kind: str) -> Mapping[str, type]:
    by_annotation: dict[Any, type] = {int: int, str: str}
    return {field.name: by_annotation.get(field.type, dict) for field in fields(MESSAGE_TYPES[kind])}


@cache
def _required_names(kind: str) -> frozenset[str]:
    return frozenset(field.name for field in fields(MESSAGE_TYPES[kind]) if field.default is MISSING)
