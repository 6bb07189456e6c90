"""Insertion of Learning and Scoring into any chain, where the settings or the routing strategy need it."""

from sophon.chain.order_constraints import get_middleware_name
from sophon.chain.pipeline import Pipeline
from sophon.settings import RoutingSettings, Settings
from sophon_middlewares.learners.learning import Learning
from sophon_middlewares.learners.scoring import Scoring

LEARNING_STRATEGIES = frozenset({"Intelligent", "CostAware"})
"""Routing strategies that choose by how earlier turns went."""


def add_learning(chain: Pipeline, settings: Settings) -> Pipeline:
    """Return the chain with Learning and Scoring behind its SessionEvents and its Trace, if the settings want it.

    Learning.Enabled is true, or it is null and a routing strategy learns.

    A chain that has them, and one without SessionEvents, which stores nothing, is returned as it is. Raises
    CompositionError.
    """
    names = [get_middleware_name(each) for each in chain]
    if not is_wanted(settings) or "SessionEvents" not in names or "Learning" in names:
        return chain
    position = names.index("Trace" if "Trace" in names else "SessionEvents") + 1
    added = list(chain)
    if "Scoring" not in names:
        added.insert(position, Scoring())
    added.insert(position, Learning())
    # The chain may be of a class of its own.
    return type(chain).compose(*added)


def is_wanted(settings: Settings) -> bool:
    """Return whether Learning and Scoring belong into chains that do not name them."""
    enabled = settings.learning.enabled
    return learns_routes(settings.routing) if enabled is None else enabled


def learns_routes(routing: RoutingSettings) -> bool:
    """Return whether a strategy of the settings, or of a task type, chooses by how earlier turns went."""
    strategies = {routing.strategy, *(each.strategy for each in routing.task_types.values())}
    return not LEARNING_STRATEGIES.isdisjoint(strategies)
