"""Event of goals."""

from sophon._python.lazy_dataclass import dataclass
from sophon.events import Event
from sophon.events.visibility import Plain, Text


@dataclass(slots=True, kw_only=True)
class GoalChanged(Event):
    """A goal has another state, for a reason, or a step of its plan another status. `progress` is in percent."""

    goal_id: Plain
    state: Plain
    reason: str = ""
    title: Text = ""
    progress: int = 0
    step: str = ""
    step_status: Plain = ""
