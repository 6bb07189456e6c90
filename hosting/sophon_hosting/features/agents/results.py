"""Results of agents: definitions, and the sub-agents of tasks."""

from typing import TYPE_CHECKING, Literal, NotRequired, TypeAlias, cast

from sophon._python.lazy_typed_dict import TypedDict
from sophon.events.agents import AgentState
from sophon.stores.sub_agents.sub_agent_run import SubAgentRun
from sophon_hosting.features.iso_time import to_iso

if TYPE_CHECKING:
    from sophon.agents.definition import AgentDefinition


SubAgentCancelState: TypeAlias = AgentState | Literal["cancelling"]
"""`cancelling`: it is asked to end, and has not yet."""


class AgentView(TypedDict):
    """A defined agent, without its prompt."""

    name: str
    description: str
    model: str | None
    hint: str | None
    tools: list[str] | None
    skills: list[str]
    memory: Literal["owner", "agent", "none"]
    chain: str | None
    max_rounds: int | None
    timeout_seconds: float | None
    temperature: float | None
    channels: list[str]
    patterns: list[str]


class AgentDetails(AgentView):
    """A defined agent; its file and its prompt for operators."""

    file: NotRequired[str]
    prompt: NotRequired[str]


class SubAgentView(TypedDict):
    """A sub-agent of a task."""

    agent_id: str
    agent: str
    task_id: str
    parent_id: str
    session_id: str
    state: AgentState
    depth: int
    task: str
    detail: str
    created_at: str
    finished_at: str | None
    cancel_requested: bool


class AgentList(TypedDict):
    """The defined agents, the sub-agents that work or wait, and for operators the problems of files."""

    items: list[AgentView]
    running: list[SubAgentView]
    problems: NotRequired[list[str]]


class CancelledSubAgent(TypedDict):
    """State of a sub-agent after a request to cancel it."""

    agent_id: str
    state: SubAgentCancelState


def agent_to_json(agent: "AgentDefinition") -> AgentView:
    """Return a defined agent as JSON, without its prompt."""
    return {
        "name": agent.name,
        "description": agent.description,
        "model": agent.model,
        "hint": agent.hint,
        "tools": None if agent.tools is None else list(agent.tools),
        "skills": list(agent.skills),
        "memory": agent.memory,
        "chain": agent.chain or None,
        "max_rounds": agent.max_rounds,
        "timeout_seconds": agent.timeout_seconds,
        "temperature": agent.temperature,
        "channels": list(agent.channels),
        "patterns": list(agent.patterns),
    }


def agent_details_to_json(agent: "AgentDefinition") -> AgentDetails:
    """Return a defined agent as JSON, with its file and its prompt."""
    return {**agent_to_json(agent), "file": str(agent.path), "prompt": agent.prompt}


def sub_agent_to_json(row: SubAgentRun) -> SubAgentView:
    """Return a sub-agent of a task as JSON."""
    return {
        "agent_id": row.id,
        "agent": row.agent,
        "task_id": row.task_id,
        "parent_id": row.parent_id,
        "session_id": row.session_id,
        "state": cast(AgentState, row.state),
        "depth": row.depth,
        "task": row.task,
        "detail": row.detail,
        "created_at": row.created_at.isoformat(),
        "finished_at": to_iso(row.finished_at),
        "cancel_requested": row.cancel_requested,
    }
