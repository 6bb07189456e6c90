"""The contract of the schedules: tasks that run at set times, their next time and what became of the last one.

    active ──pause, or the owner may not run it any more──> paused ──resume──> active
      └──its last time was fired──> finished

`due_at` is the time that the next firing is for; `wake_at` is when the scheduler looks at it. They differ while a
firing is postponed, by quiet hours or a full queue. Neither is set unless the schedule is active.
"""

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from typing import Any, Literal, TypeAlias

from sophon._python.lazy_dataclass import dataclass, new_dict

ScheduleKind: TypeAlias = Literal["cron", "interval", "once"]
ScheduleState: TypeAlias = Literal["active", "paused", "finished"]
Misfire: TypeAlias = Literal["skip", "once", "all"]
QuietAction: TypeAlias = Literal["postpone", "skip"]
FiringOutcome: TypeAlias = Literal["fired", "missed", "skipped", "postponed", "delayed", "refused"]
"""What became of a time. `fired`: a run was accepted. `missed`: the host was down, and the misfire policy drops it.
`skipped`: quiet hours. `postponed`: until quiet hours end. `delayed`: no room for a run now; it is tried again.
`refused`: the owner may not run it any more, or it cannot be run; the schedule is paused."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """A task that a host starts at set times, on behalf of `owner`, in the session and chat it was made in.

    `expression` is, by `kind`, five cron fields, a number of seconds, or a time in ISO 8601. `origin` is that of the
    runs: where the answer goes. `quiet_hours` is `HH:MM-HH:MM` in the time zone, "" for those of the settings, `none`
    for none. `reason` says why a schedule is paused. `version` counts the changes. Times are in UTC.
    """

    id: str
    owner: str
    session_id: str
    channel: str
    text: str
    kind: ScheduleKind
    expression: str
    time_zone: str
    created_at: datetime
    created_by: str
    origin: Mapping[str, Any] = field(default_factory=new_dict)
    title: str = ""
    misfire: Misfire = "once"
    quiet_hours: str = ""
    quiet_action: QuietAction = "postpone"
    state: ScheduleState = "active"
    reason: str = ""
    due_at: datetime | None = None
    wake_at: datetime | None = None
    attempts: int = 0
    last_due_at: datetime | None = None
    last_outcome: FiringOutcome | None = None
    last_reason: str = ""
    last_task_id: str = ""
    version: int = 0
