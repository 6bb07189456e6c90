"""Events of schedules."""

from typing import Literal

from sophon._python.lazy_dataclass import dataclass
from sophon.events.base import Event


@dataclass(slots=True, kw_only=True)
class ScheduleFired(Event):
    """A time of a schedule has come; `outcome` says what became of it.

    `fired`: it runs as task `task_id`. `missed`: the host was down, and the misfire policy drops it; `count` is how
    many such times. `skipped`: quiet hours. `postponed`: until quiet hours end. `delayed`: there is no room for a run;
    it is tried again. `refused`: it cannot run, and the schedule is paused.
    """

    schedule_id: str
    title: str
    due_at: str
    outcome: Literal["fired", "missed", "skipped", "postponed", "delayed", "refused"]
    reason: str = ""
    count: int = 1


@dataclass(slots=True, kw_only=True)
class ScheduleChanged(Event):
    """A schedule of the session was added, changed, paused, resumed, removed or finished (`change`)."""

    schedule_id: str
    change: str
    title: str = ""
    reason: str = ""
    next_at: str | None = None
