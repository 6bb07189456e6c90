"""What all turns of a process share of its agents: the catalogue, the slots, the running ones, the chains."""

from collections.abc import Callable

from sophon.agents.catalog import AgentCatalog
from sophon.agents.running import RunningAgents
from sophon.agents.slots import AgentSlots


class AgentRuntime:
    """The agents of a process. `find_chain` returns the chain of a name; a host sets it."""

    def __init__(self, catalog: AgentCatalog, *, max_concurrent: int = 10, max_per_turn: int = 3) -> None:
        self.catalog = catalog
        self.slots = AgentSlots(max_concurrent, max_per_turn)
        self.running = RunningAgents()
        self.find_chain: Callable[[str], object] | None = None
