"""Agents: gives a message to the agent that answers it, and keeps the turn of an agent to what that may use."""

from collections.abc import Awaitable, Mapping
from typing import ClassVar

from sophon.agents.agent_runtime import AgentRuntime
from sophon.agents.agent_selection import AgentRoute, route_to_agent
from sophon.agents.catalog import AgentSet
from sophon.agents.definition import AgentDefinition
from sophon.agents.prompt import build_agent_prompt, build_agents_section
from sophon.builtin_tools.agents import agent_tools
from sophon.builtin_tools.skills import load_skill_instructions
from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.errors import ToolError
from sophon.events import AgentSelected
from sophon.extensions import Key
from sophon.messages import Message, ToolCall
from sophon.models.model import Call, ModelRequest, ModelResponse
from sophon.principals import MAIN_AGENT
from sophon.turn.agent import TURN_AGENT, TurnAgent, filter_by_agents, find_agent_depth, find_turn_agent
from sophon.turn.chat_overrides import find_chat_overrides
from sophon.turn.permissions import chat_of_turn

SOURCE = "agents"
"""Source of the tools for sub-agents, in the toolbox."""

_PREPARED: Key[bool] = Key("agents.prepared", dump=bool, load=bool)
"""Set once a turn has its prompt; a resumed turn keeps it."""

RUN_TOOL = "agents.run"


class Agents:
    """Reads the files of agents anew if they have changed, and chooses the agent of the message (`route_to_agent`).

    The turn then runs as that agent: with its prompt instead of the chain's, its tools, model, temperature and rounds;
    a model that a person chose for the message or the session goes first. A sub-agent's turn arrives with its agent.
    Calls of other tools are refused right before they run, too. Lists the other agents behind the system prompt, as
    long as the turn may run sub-agents (`Agents.MaxDepth`).
    """

    zone = "outer"
    unique = True
    calls_next = True
    after = ("SessionEvents",)
    before = ("CapabilityRouting", "ContextWindow", "ToolFilter", "PromptToolBridge", "Planning")
    acts: ClassVar[Mapping[str, str]] = {
        "turn": "reads the agents anew; chooses the one that answers, with its prompt, tools and model",
        "model call": "sets the agent's temperature",
    }

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        runtime = ctx.services.assistant.agents
        if runtime is None:
            await next(ctx)
            return
        has_all = ctx.tools is ctx.services.registry.tools
        if not ctx.depth:
            await self._refresh(ctx, runtime)
        if not ctx.get(_PREPARED):
            ctx.put(_PREPARED, True)
            await _prepare(ctx, runtime.catalog.current)
        agent = find_turn_agent(ctx)
        _offer_tools(ctx, has_all=has_all)
        if agent is None:
            await next(ctx)
            return
        with ctx.tool_check(check_agent_tool):
            if agent.temperature is None:
                await next(ctx)
                return
            with ctx.call_layer(_TemperatureLayer(agent.temperature)):
                await next(ctx)

    async def _refresh(self, ctx: Context, runtime: AgentRuntime) -> None:
        await ctx.services.clock.run_in_thread(runtime.catalog.read)
        disabled = ctx.settings.tools.disabled
        tools = agent_tools() if runtime.catalog.current.agents else []
        ctx.services.toolbox.replace(SOURCE, [tool for tool in tools if tool.name not in disabled])


class _TemperatureLayer:
    __slots__ = ("_temperature",)

    def __init__(self, temperature: float) -> None:
        self._temperature = temperature

    def __call__(self, request: ModelRequest, call: Call) -> Awaitable[ModelResponse]:
        return call(request.copy_with(temperature=self._temperature))


def check_agent_tool(ctx: Context, call: ToolCall) -> str | None:
    """Return why a call is none of the agent's, or None."""
    tool = ctx.services.registry.get(call.name)
    if tool is None or any(True for _ in filter_by_agents(ctx, [tool])):
        return None
    agent = find_turn_agent(ctx)
    return f"the agent {agent.name if agent else MAIN_AGENT} may not use {call.name}"


def route_turn_to_agent(ctx: Context, agents: Mapping[str, AgentDefinition]) -> AgentRoute | None:
    """Return which agent answers the message of a turn."""
    chat = chat_of_turn(ctx) or ctx.principal
    return route_to_agent(
        ctx.text,
        channel=ctx.channel,
        chats=(chat, ctx.session_id),
        agents=agents,
        settings=ctx.settings.agents.channels,
        chosen=find_chat_overrides(ctx).agent,
    )


async def _prepare(ctx: Context, agents: AgentSet) -> None:
    definition = None
    if ctx.depth:
        agent = ctx.get(TURN_AGENT)
        definition = agents.agents.get(agent.name) if agent is not None else None
        if definition is None:
            return  # a step of a plan has the prompt of its turn
    else:
        route = route_turn_to_agent(ctx, agents.agents)
        if route is not None:
            ctx.emit(AgentSelected(agent=route.agent, rule=route.rule))
        definition = None if route is None else agents.agents.get(route.agent)
        if definition is not None:
            _set_agent(ctx, definition)
    others = [each for each in agents.agents.values() if each is not definition]
    section = build_agents_section(others) if others and _may_run_agents(ctx) else ""
    parts = [section]
    if definition is not None and definition.skills:
        parts.insert(0, await _load_skills(ctx, definition))
    for part in parts:
        if part:
            _extend_prompt(ctx, part)


def _set_agent(ctx: Context, definition: AgentDefinition) -> None:
    ctx.put(TURN_AGENT, TurnAgent.of(definition, max_rounds=None))
    ctx.model = ctx.model or definition.model
    prompt = Message("system", build_agent_prompt(definition))
    if ctx.services.assistant.instructions and ctx.messages and ctx.messages[0].role == "system":
        ctx.messages[0] = prompt
    else:
        ctx.messages.insert(0, prompt)


def _extend_prompt(ctx: Context, section: str) -> None:
    first = ctx.messages[0] if ctx.messages else None
    if first is None or first.role != "system":
        ctx.messages.insert(0, Message("system", section))
    else:
        ctx.messages[0] = Message("system", f"{first.content}\n\n{section}")


async def _load_skills(ctx: Context, definition: AgentDefinition) -> str:
    if ctx.services.assistant.skills is not None:
        await ctx.services.clock.run_in_thread(ctx.services.assistant.skills.read)
    try:
        return await load_skill_instructions(ctx, definition.skills)
    except ToolError as error:
        if ctx.depth:
            raise
        return f"(Skills of this agent could not be loaded: {error})"


def _may_run_agents(ctx: Context) -> bool:
    return find_agent_depth(ctx) < ctx.settings.agents.max_depth


def _offer_tools(ctx: Context, *, has_all: bool) -> None:
    """Offer the tools that the agent may use; without an agent, at a depth that allows sub-agents, all stay offered."""
    registered = ctx.services.registry.tools
    tools = registered if has_all else ctx.tools
    kept = [tool for tool in filter_by_agents(ctx, tools) if tool.name != RUN_TOOL or _may_run_agents(ctx)]
    if len(kept) < len(tools):
        ctx.tools = kept
    elif has_all:
        ctx.tools = registered
