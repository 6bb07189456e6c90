"""Last errors of tools: in memory, of this process, each known by the session in which the call failed."""

from collections import OrderedDict
from datetime import datetime

from sophon._python.lazy_dataclass import dataclass
from sophon.clock import Clock
from sophon.events import Event, ToolCallCompleted
from sophon.messages import ToolCallOutcome

MAX_ERRORS = 500
"""Errors that are kept; the oldest one is dropped for a new one."""

MAX_TEXT_CHARACTERS = 300

ERROR_OUTCOMES = frozenset({"failed", "timed_out", "interrupted"})
"""Outcomes that say something about a tool; a person or a guard decides the others."""


@dataclass(frozen=True, slots=True)
class ToolError:
    """How a call of a tool ended, with the first of what it said, without secrets."""

    tool: str
    session_id: str
    at: datetime
    outcome: ToolCallOutcome
    text: str


class ToolErrors:
    """The last error of each tool in each session, of the `ToolCallCompleted` events that it is given.

    What a call said may be private to its session: `find` returns those of all, and the caller chooses.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._errors: OrderedDict[tuple[str, str], ToolError] = OrderedDict()

    def note(self, event: Event) -> None:
        """Keep the error of a failed call."""
        if isinstance(event, ToolCallCompleted) and event.outcome in ERROR_OUTCOMES:
            key = (event.tool, event.session_id)
            text = " ".join(event.result.split())[:MAX_TEXT_CHARACTERS]
            self._errors[key] = ToolError(event.tool, event.session_id, self._clock.now(), event.outcome, text)
            self._errors.move_to_end(key)
            if len(self._errors) > MAX_ERRORS:
                self._errors.popitem(last=False)

    def find(self, tool: str) -> list[ToolError]:
        """Return the last error of a tool in each session, the newest first."""
        return [each for each in reversed(self._errors.values()) if each.tool == tool]

    async def forget_session(self, session_id: str) -> None:
        """Drop the errors of a session that is deleted."""
        for key in [key for key in self._errors if key[1] == session_id]:
            del self._errors[key]
