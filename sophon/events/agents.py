"""Events of agents and sub-agents."""

from typing import Literal, TypeAlias

from sophon._python.lazy_dataclass import dataclass
from sophon.events.base import Event
from sophon.events.visibility import Plain

AgentState: TypeAlias = Literal["spawning", "working", "completed", "failed", "timed_out", "cancelled"]
"""State of a sub-agent; all but the first two are final."""


@dataclass(slots=True, kw_only=True)
class AgentSelected(Event):
    """A message went to an agent: by its name in the message, by chat, by content or by channel (`rule`)."""

    agent: Plain
    rule: Plain


@dataclass(slots=True, kw_only=True)
class SubAgentChanged(Event):
    """A sub-agent is in a state; `parent_id` is the run id of the turn that runs it, `depth` how deep it is.

    `call_id` is the call of `agents.run` there, `task` the beginning of its task. `detail` says why it failed, or that
    it waits for a person.
    """

    agent_id: Plain
    agent: Plain
    state: AgentState
    parent_id: Plain = ""
    depth: int = 1
    task: str = ""
    detail: str = ""
    call_id: Plain = ""
