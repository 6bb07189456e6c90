"""Operations on agents: the defined ones, and the sub-agents of tasks, which can be cancelled."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, cast

from sophon._python.lazy_dataclass import dataclass
from sophon.composition.part_factories import create_agent_runtime
from sophon.errors import NotFound
from sophon.stores.sub_agents.sub_agent_run import SubAgentRun
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.features.agents.results import (
    AgentDetails,
    AgentList,
    CancelledSubAgent,
    SubAgentCancelState,
    SubAgentView,
    agent_details_to_json,
    agent_to_json,
    sub_agent_to_json,
)
from sophon_hosting.operations.operation import Subject
from sophon_hosting.operations.request import Doc, Everything, Request
from sophon_hosting.operations.shared_subjects import TASK
from sophon_hosting.operations.table import Table
from sophon_hosting.runs.sub_agent_cancellation import cancel_sub_agent as cancel_running
from sophon_hosting.store.runs.contract import Run

if TYPE_CHECKING:
    from sophon.agents.catalog import AgentSet
    from sophon.agents.definition import AgentDefinition

table = Table("agents")


@dataclass(frozen=True, slots=True)
class TaskSubAgent:
    """A sub-agent with the run of its task, whose owner it belongs to."""

    row: SubAgentRun
    run: Run


def _task_id(sub_agent_id: str) -> str:
    return sub_agent_id.partition("/")[0]


async def _find(caller: Caller, sub_agent_id: str) -> TaskSubAgent | None:
    run = await TASK.find(caller, _task_id(sub_agent_id))
    row = await caller.store.sub_agents.find(sub_agent_id)
    return None if run is None or row is None or row.task_id != run.id else TaskSubAgent(row, run)


async def _is_off_the_record(off: Caller, sub_agent_id: str) -> bool:
    assert TASK.is_off_the_record is not None
    return await TASK.is_off_the_record(off, _task_id(sub_agent_id))


SUB_AGENT = Subject("sub-agent", "agent_id", _find, lambda found: found.run.owner, _is_off_the_record)


class ListAgents(Request):
    """The agents, and the sub-agents that work."""

    everything: Everything = False


class NamedAgent(Request):
    """A defined agent by its name."""

    name: Annotated[str, Doc("Name of an agent.")]


class NamedSubAgent(Request):
    """A sub-agent by its id."""

    agent_id: Annotated[str, Doc("Id of a sub-agent, as `running` shows it.")]


@table.operation("GET /api/agents", needs="Read")
async def list_agents(caller: Caller, request: ListAgents) -> AgentList:
    """List the agents, the problems of files for operators, and the sub-agents that work or wait now."""
    found = await _read_agents(caller)
    agents: Mapping[str, AgentDefinition] = {} if found is None else found.agents
    running = await _list_running(caller, caller.owner_filter(request.everything))
    listed: AgentList = {"items": [agent_to_json(each) for each in agents.values()], "running": running}
    if caller.user.operator:
        listed["problems"] = [] if found is None else [str(each) for each in found.problems]
    return listed


@table.operation("GET /api/agents/{name}", needs="Read", errors=(NotFound,))
async def get_agent(caller: Caller, request: NamedAgent) -> AgentDetails:
    """Return one agent, for operators with `file` and `prompt`."""
    found = await _read_agents(caller)
    agent = None if found is None else found.agents.get(request.name)
    if agent is None:
        raise NotFound("agent", request.name)
    return agent_details_to_json(agent) if caller.user.operator else cast(AgentDetails, agent_to_json(agent))


@table.operation("POST /api/agents/cancel", needs="Chat", on=SUB_AGENT, ok=True, example={"agent_id": "0a1b2c3d/1"})
async def cancel_sub_agent(caller: Caller, request: NamedSubAgent, found: TaskSubAgent) -> CancelledSubAgent:
    """Cancel a sub-agent; the task that runs it goes on.

    `state` is `cancelling` until it has ended. One that has ended does not change.
    """
    state = await _cancel(caller, found.row)
    return {"agent_id": found.row.id, "state": cast(SubAgentCancelState, state)}


async def _read_agents(caller: Caller) -> "AgentSet | None":
    """Return the agents that are defined in files; None if agents are off."""
    host = caller.running_host
    agents = create_agent_runtime(caller.settings, caller.folder) if host is None else host.services.assistant.agents
    return None if agents is None else await caller.clock.run_in_thread(agents.catalog.read)


async def _cancel(caller: Caller, row: SubAgentRun) -> str:
    """Cancel a sub-agent, or store the request where no host runs; return its state."""
    host = caller.running_host
    if host is None:
        return "cancelling" if await caller.store.sub_agents.request_cancel(row.id) else row.state
    return await cancel_running(host.services, host.approvals, row, caller.user.id, host.signals.send)


async def _list_running(caller: Caller, owner: str | None) -> list[SubAgentView]:
    """Return the sub-agents that work or wait, oldest first."""
    shown: list[SubAgentView] = []
    for each in await caller.store.sub_agents.list_unfinished(owner):
        run = await caller.store.runs.find(each.task_id)
        if run is not None and not run.is_finished:  # one that was interrupted with its task for good has no end
            shown.append(show_sub_agent(caller, each))
    return shown


def show_sub_agent(caller: Caller, row: SubAgentRun) -> SubAgentView:
    """Return a sub-agent as the client sees it: redacted, with the session id that the user knows."""
    shown = row if caller.view is None else caller.view.sub_agent(row)
    return sub_agent_to_json(replace(shown, session_id=caller.sessions.to_client_id(row.session_id)))
