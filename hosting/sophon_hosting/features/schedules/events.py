"""Events of schedules."""

from typing import Literal

from sophon._python.lazy_dataclass import dataclass
from sophon.events import Event
from sophon.events.visibility import Plain, Text


@dataclass(slots=True, kw_only=True)
class ScheduleFired(Event):
    """A time of a schedule has come; `outcome` says what became of it.

    `fired`: it runs as task `task_id`. `missed`: the host was down, and the misfire policy drops it; `count` is how
    many such times. `skipped`: quiet hours. `postponed`: until quiet hours end. `delayed`: there is no room for a run;
    it is tried again. `refused`: it cannot run, and the schedule is paused.
    """

    schedule_id: Plain
    title: Text
    due_at: Plain
    outcome: Literal["fired", "missed", "skipped", "postponed", "delayed", "refused"]
    reason: str = ""
    count: int = 1


@dataclass(slots=True, kw_only=True)
class ScheduleChanged(Event):
    """A schedule of the session was added, changed, paused, resumed, removed or finished (`change`)."""

    schedule_id: Plain
    change: Plain
    title: Text = ""
    reason: str = ""
    next_at: Plain | None = None
