"""Records: what the broker keeps of an entry or a held lane, one message each, written anew when it changes."""

import json
from typing import Any, cast

from sophon._python.lazy_dataclass import dataclass
from sophon_hosting.queue.contract import QueueEntry

Key = tuple[str, str]
"""Kind of a record (`task`, `hold`) and the id of its task or session; the newest record of a key counts."""

INQUIRY_SECONDS = 60.0
"""Time after which the broker drops a question that nobody took."""


@dataclass(frozen=True, slots=True)
class TaskRecord:
    """Entry that waits or is in flight.

    `order` is its place within the session. `deliveries` counts its deliveries; while one is open, `token` is its
    fencing token (otherwise 0 or that of the last one) and `holder` the process that has it. `has_resume` tells that a
    resume of the same task waits for the end of the delivery. `since` is the time of the put in seconds since 1970.
    """

    entry: QueueEntry
    order: int
    deliveries: int = 0
    token: int = 0
    holder: str = ""
    has_resume: bool = False
    since: float = 0.0

    @property
    def key(self) -> Key:
        return "task", self.entry.task_id


@dataclass(frozen=True, slots=True)
class HoldRecord:
    """Lane that is restricted to one task."""

    session_id: str
    task_id: str

    @property
    def key(self) -> Key:
        return "hold", self.session_id


@dataclass(frozen=True, slots=True)
class Inquiry:
    """Question of a process, sent through the queue of entries: the process that receives it schedules them."""

    member_id: str


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """Record as the broker keeps it; among those of one key the one with the greatest `revision` counts."""

    record: TaskRecord | HoldRecord
    revision: int


def encode_record(stored: StoredRecord) -> bytes:
    """Return the body of the message."""
    record = stored.record
    if isinstance(record, HoldRecord):
        fields: dict[str, Any] = {"hold": record.task_id, "session": record.session_id}
    else:
        fields = {
            "task": record.entry.task_id,
            "session": record.entry.session_id,
            "kind": record.entry.kind,
            "owner": record.entry.owner,
            "order": record.order,
            "deliveries": record.deliveries,
            "token": record.token,
            "holder": record.holder,
            "resume": record.has_resume,
            "since": record.since,
        }
    return json.dumps(fields | {"revision": stored.revision}).encode()


def encode_inquiry(inquiry: Inquiry) -> bytes:
    """Return the body of the message."""
    return json.dumps({"inquiry": inquiry.member_id}).encode()


def decode_record(body: bytes) -> StoredRecord | Inquiry:
    """Return the content of a message. Raises ValueError if it is none of ours."""
    try:
        fields = cast("dict[str, Any]", json.loads(body))
        if "inquiry" in fields:
            return Inquiry(str(fields["inquiry"]))
        revision = int(fields["revision"])
        if "hold" in fields:
            return StoredRecord(HoldRecord(str(fields["session"]), str(fields["hold"])), revision)
        entry = QueueEntry(str(fields["task"]), str(fields["session"]), fields["kind"], str(fields["owner"]))
        if entry.kind not in ("run", "resume"):
            raise ValueError(f"unknown kind {entry.kind!r}")
        record = TaskRecord(
            entry,
            int(fields["order"]),
            int(fields["deliveries"]),
            int(fields["token"]),
            str(fields["holder"]),
            bool(fields["resume"]),
            float(fields["since"]),
        )
        return StoredRecord(record, revision)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not a record: {error!r}") from error


def sort_records(records: list[TaskRecord]) -> list[TaskRecord]:
    """Return the records in the order in which their entries wait: resumes first, then in order of acceptance."""
    return sorted(records, key=lambda each: (each.entry.kind != "resume", each.order))
