"""The agent of a turn: which definition runs it, and what that allows and sets for its turn and its sub-turns."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, Self, cast

from sophon._python.lazy_dataclass import dataclass
from sophon.agents.definition import AgentDefinition, AgentMemory, tool_matcher
from sophon.context import Context
from sophon.extensions import Key
from sophon.principals import MAIN_AGENT
from sophon.tools.tool import Tool

MEMORY_GROUP: Final = "memory"
"""Group of the tools of the long-term memory."""


@dataclass(frozen=True, slots=True)
class TurnAgent:
    """What a definition sets for a turn, as it was when the turn began; see `AgentDefinition`."""

    name: str
    tools: tuple[str, ...] | None = None
    memory: AgentMemory = "owner"
    max_rounds: int | None = None
    temperature: float | None = None
    hint: str | None = None

    def allows(self, tools: Iterable[Tool]) -> list[Tool]:
        """Return those of the tools that the agent may use."""
        is_named = None if self.tools is None else tool_matcher(self.tools)
        return [
            tool
            for tool in tools
            if (is_named is None or is_named(tool.name)) and (self.memory != "none" or tool.group != MEMORY_GROUP)
        ]

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "name": self.name,
            "tools": None if self.tools is None else list(self.tools),
            "memory": self.memory,
            "max_rounds": self.max_rounds,
            "temperature": self.temperature,
            "hint": self.hint,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Invert `to_json`."""
        tools = data["tools"]
        return cls(
            str(data["name"]),
            None if tools is None else tuple(map(str, tools)),
            cast(AgentMemory, data["memory"]),
            data["max_rounds"],
            data["temperature"],
            data["hint"],
        )

    @classmethod
    def of(cls, definition: AgentDefinition, *, max_rounds: int | None) -> Self:
        """Return what a definition sets, with at most `max_rounds` rounds of tool calls; None: no limit of its own."""
        rounds = [each for each in (definition.max_rounds, max_rounds) if each is not None]
        return cls(
            definition.name,
            definition.tools,
            definition.memory,
            min(rounds, default=None),
            definition.temperature,
            definition.hint,
        )


TURN_AGENT: Key[TurnAgent] = Key("agents.turn", dump=TurnAgent.to_json, load=TurnAgent.from_json)
"""The agent that a turn was given to; a step of its plan has none of its own."""


def find_turn_agent(ctx: Context) -> TurnAgent | None:
    """Return the agent of a turn or, in a plan's step, of the turn whose step it is; None without one."""
    turn: Context | None = ctx
    while turn is not None:
        agent = turn.get(TURN_AGENT)
        if agent is not None:
            return agent
        turn = turn.parent
    return None


def find_agent_name(ctx: Context) -> str:
    """Return the name of the agent of a turn."""
    agent = find_turn_agent(ctx)
    return MAIN_AGENT if agent is None else agent.name


def filter_by_agents(ctx: Context, tools: Iterable[Tool]) -> Iterable[Tool]:
    """Return those of the tools that the agent of the turn may use, and each agent for which that one works."""
    turn: Context | None = ctx
    while turn is not None:
        agent = turn.get(TURN_AGENT)
        if agent is not None and (agent.tools is not None or agent.memory == "none"):
            tools = agent.allows(tools)
        turn = turn.parent
    return tools


def find_agent_depth(ctx: Context) -> int:
    """Return how many sub-agents deep a turn is: 0 for the turn of a message, whichever agent answers it."""
    depth = 0
    while ctx.parent is not None:
        depth += ctx.get(TURN_AGENT) is not None
        ctx = ctx.parent
    return depth
