"""Instructions, skills, agents and custom tools: what the turns of a chain have beside models and tools."""

from typing import TYPE_CHECKING

from sophon._python.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from sophon.agents.agent_runtime import AgentRuntime
    from sophon.skills.catalog import SkillCatalog
    from sophon.skills.custom_tools import CustomToolStore


@dataclass(frozen=True, slots=True)
class Assistant:
    """`instructions` are the system prompt with which the messages of a turn begin; all are None where there are none.

    `skills` are those that are installed, `agents` those that are defined in files, and `custom_tools` the tools that
    users have made.
    """

    instructions: str | None = None
    skills: "SkillCatalog | None" = None
    agents: "AgentRuntime | None" = None
    custom_tools: "CustomToolStore | None" = None
