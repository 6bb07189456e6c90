"""Insertion of Learning and Scoring into any chain, where the settings or the routing strategy need it."""

from sophon.chain.order_constraints import get_middleware_name
from sophon.chain.pipeline import Pipeline
from sophon.settings import Settings
from sophon_middlewares.learning.learning import Learning
from sophon_middlewares.learning.scoring import Scoring


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
    return settings.routing.learns if enabled is None else enabled
