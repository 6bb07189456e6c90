"""Insertion of Learning and Scoring into any chain, where the settings turn learning on."""

from sophon.chain.order_constraints import get_middleware_name
from sophon.chain.pipeline import Pipeline
from sophon.settings import LearningSettings
from sophon_middlewares.learners.learning import Learning
from sophon_middlewares.learners.scoring import Scoring


def add_learning(chain: Pipeline, settings: LearningSettings) -> Pipeline:
    """Return the chain with Learning and Scoring behind its SessionEvents if Learning.Enabled is true.

    A chain that has them, and one without SessionEvents, which stores nothing, is returned as it is. Raises
    CompositionError.
    """
    names = [get_middleware_name(each) for each in chain]
    if settings.enabled is not True or "SessionEvents" not in names or "Learning" in names:
        return chain
    position = names.index("SessionEvents") + 1
    added = list(chain)
    if "Scoring" not in names:
        added.insert(position, Scoring())
    added.insert(position, Learning())
    # The chain may be of a class of its own.
    return type(chain).compose(*added)
