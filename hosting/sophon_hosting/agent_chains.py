"""Chains that agents name: built when they are first needed, with the checkpoints of the host."""

from sophon.chain.pipeline import Pipeline
from sophon.chain.placement import place
from sophon.services import Services
from sophon_hosting.events.event_bus import EventBus
from sophon_hosting.host_chain import build_named_chain
from sophon_hosting.runs.active_runs import ActiveRuns
from sophon_hosting.runs.checkpoints.checkpoint_store import Checkpoints


class AgentChains:
    """Chains that definitions of agents name, each built once, with the checkpoints of a host."""

    def __init__(self, services: Services, active_runs: ActiveRuns, event_bus: EventBus) -> None:
        self._services, self._active_runs, self._event_bus = services, active_runs, event_bus
        self._chains: dict[str, Pipeline] = {}

    def find(self, name: str) -> Pipeline:
        """Return a chain by its name. Raises NotFound."""
        chain = self._chains.get(name)
        if chain is None:
            named = build_named_chain(self._services, name)
            chain = self._chains[name] = place(named, [Checkpoints(self._active_runs, self._event_bus)])
        return chain
