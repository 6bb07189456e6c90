"""Results that hold the history of a session: stored records, events, large texts."""

from typing import Any, NotRequired, cast

from sophon._python.lazy_typed_dict import TypedDict
from sophon.messages import Role
from sophon.scheduled_turns import SCHEDULED_ORIGIN, strip_scheduled_prefix
from sophon.stores.sessions.contract import RecordKind, SessionRecord
from sophon_hosting.events.large_fields import LargeFieldReference
from sophon_hosting.events.wire_event import WireEvent, wire_event_from_log
from sophon_hosting.features.attachments.results import AttachmentView
from sophon_hosting.features.iso_time import to_iso
from sophon_hosting.store.events.logged_event import LoggedEvent


class ToolCallView(TypedDict):
    """A tool call of a model; `malformed` is the error of one that could not be parsed."""

    id: str
    name: str
    arguments: dict[str, Any]
    malformed: NotRequired[str]
    batch: NotRequired[int]


class ReasoningView(TypedDict):
    """What a model wrote while it reasoned; `fields` are those of the provider's message."""

    text: str
    model: str
    fields: NotRequired[dict[str, Any]]


class ImageView(TypedDict):
    """An image of a message: its bytes in Base64, or its URL."""

    data: NotRequired[str]
    url: NotRequired[str]
    media_type: NotRequired[str]
    name: NotRequired[str]


class RecordView(TypedDict):
    """A stored record of a session: a message, a compaction, or the outcome of a turn without an answer."""

    seq: int
    kind: RecordKind
    task_id: str
    at: str | None
    message_id: NotRequired[str]
    role: NotRequired[Role]
    content: NotRequired[str]
    tool_calls: NotRequired[list[ToolCallView]]
    tool_call_id: NotRequired[str]
    origin: NotRequired[str]
    reasoning: NotRequired[ReasoningView]
    images: NotRequired[list[ImageView]]
    attachments: NotRequired[list[AttachmentView]]
    data: NotRequired[dict[str, Any]]
    large: NotRequired[dict[str, LargeFieldReference]]


class RecordPage(TypedDict):
    """A page of the records of a session, in ascending order; `more` follow in the direction of the page."""

    items: list[RecordView]
    more: bool


class TurnRecords(TypedDict):
    """The stored messages of one turn."""

    items: list[RecordView]


class EventView(TypedDict):
    """An event as it is sent: its name and its payload."""

    event: str
    data: dict[str, Any]


class LoggedEventView(EventView):
    """A stored event, with the time at which it was stored."""

    at: str | None


class EventPage(TypedDict):
    """A page of the stored events of a session, in ascending order."""

    items: list[LoggedEventView]
    more: bool


class TextView(TypedDict):
    """A large text."""

    text: str


class JoinedSession(TypedDict):
    """The events after the seq that the client knew; `partial` if the oldest of them are gone."""

    session_id: str
    seq: int
    events: list[EventView]
    partial: NotRequired[bool]


class LeftSession(TypedDict):
    """The session whose events are not sent any more."""

    session_id: str


def record_to_json(session_id: str, record: SessionRecord) -> RecordView:
    """Return a session record as JSON. A message has a `message_id`, the same as in the event `message`."""
    result: RecordView = {
        "seq": record.seq,
        "kind": record.kind,
        "task_id": record.run_id,
        "at": to_iso(record.at),
    }
    if record.message is not None:
        result["message_id"] = f"{session_id}:{record.seq}"
        result.update(cast(RecordView, record.message.to_json()))
        if SCHEDULED_ORIGIN in record.data:  # as in the event `message`
            result["content"], result["origin"] = strip_scheduled_prefix(record.message.content), SCHEDULED_ORIGIN
    if record.data:
        result["data"] = dict(record.data)
    return result


def event_to_json(event: WireEvent) -> EventView:
    """Return an event as in a replay."""
    return cast(EventView, event.to_json())


def logged_event_to_json(session_id: str, logged: LoggedEvent) -> LoggedEventView:
    """Return a stored event as it was sent, with the time at which it was stored."""
    return {**event_to_json(wire_event_from_log(session_id, logged)), "at": to_iso(logged.at)}
