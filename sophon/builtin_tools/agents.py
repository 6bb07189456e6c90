"""Built-in tools `agents.run`, `agents.list` and `agents.cancel`: sub-agents that work for the agent of a turn."""

from typing import Annotated, Any

from sophon._python.value_rules import ValueRules
from sophon.agents.agent_runtime import AgentRuntime
from sophon.builtin_tools.sub_agents import run_sub_agent
from sophon.context import Context
from sophon.errors import ToolError
from sophon.tools.tool import Risk, Tool, tool

MAX_TASK_CHARACTERS = 20_000


@tool(
    deferred=True,
    name="agents.run",
    risk=Risk.LOW,
    group="agents",
    idempotent=True,
    nested=True,
    external=True,
    tags=("agent", "agents", "delegate", "ask"),
)
async def agents_run(
    ctx: Context,
    agent: Annotated[str, ValueRules(min_length=1, max_length=64)],
    task: Annotated[str, ValueRules(min_length=1, max_length=MAX_TASK_CHARACTERS)],
) -> str:
    """Give a task to another agent, which works on it with its own tools and returns its answer.

    Several calls in one reply run at the same time.

    Args:
        agent: The name of the agent.
        task: The whole task: the agent does not see this conversation.
    """
    if not task.strip():
        raise ToolError("the task is empty: say what the agent should do")
    return await run_sub_agent(ctx, agent.strip().removeprefix("@"), task.strip())


@tool(
    deferred=True,
    name="agents.list",
    risk=Risk.NONE,
    group="agents",
    idempotent=True,
    polls=True,
    tags=("agent", "agents"),
)
async def agents_list(ctx: Context) -> dict[str, Any]:
    """List the agents that can be given tasks, and the sub-agents of this person that work now."""
    runtime = _find_runtime(ctx)
    agents = [{"agent": each.name, "for": each.description} for each in runtime.catalog.current.agents.values()]
    working = [
        {"id": each.id, "agent": each.agent, "since": each.started_at.isoformat()}
        for each in runtime.running.list(principal=ctx.principal)
    ]
    return {"agents": agents, "working": working}


@tool(deferred=True, name="agents.cancel", risk=Risk.LOW, group="agents", idempotent=True, tags=("agent", "agents"))
async def agents_cancel(ctx: Context, id: Annotated[str, ValueRules(min_length=1, max_length=500)]) -> str:  # noqa: A002 - the name that the model sees in a list
    """Cancel a sub-agent that works now, with those that it runs itself.

    Args:
        id: The id, as agents.list shows it.
    """
    running = _find_runtime(ctx).running.find(id)
    # What belongs to others does not exist.
    if running is None or running.principal != ctx.principal:
        raise ToolError(f"no sub-agent {id!r} works now")
    if ctx.run_id == running.id or ctx.run_id.startswith(f"{running.id}/"):
        raise ToolError("an agent cannot cancel itself: return an answer instead")
    running.cancel()
    return f"The sub-agent {running.agent} is being cancelled."


def agent_tools() -> list[Tool]:
    """Return the tools that are registered where there are agents."""
    return [agents_run, agents_list, agents_cancel]


def _find_runtime(ctx: Context) -> AgentRuntime:
    if ctx.services.assistant.agents is None:
        raise ToolError("there are no agents here")
    return ctx.services.assistant.agents
