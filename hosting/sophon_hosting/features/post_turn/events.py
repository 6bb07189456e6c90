"""Events of the jobs after a turn: titles and what the memory learned."""

from sophon._python.lazy_dataclass import dataclass
from sophon.events import Event
from sophon.events.visibility import Text


@dataclass(slots=True, kw_only=True)
class SessionTitled(Event):
    """The session received a title, from a model or taken from the user's text."""

    in_trace = False

    title: Text


@dataclass(slots=True, kw_only=True)
class MemoryLearned(Event):
    """Facts that the user stated were stored as memory entries; deleting these entries undoes it."""

    entry_ids: list[str]
    texts: list[str]
