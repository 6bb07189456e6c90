"""Rules for routing by task type and complexity, and for scoring replies, as pure functions."""

from sophon.learning.clawft_complexity import complexity
from sophon.learning.complexity_tiers import compute_tier
from sophon.learning.fitness import Fitness, fitness
from sophon.learning.keyword_classifier import Classified, classify
from sophon.learning.message_complexity import Factors, complexity_factors
from sophon.learning.route_explainer import explain_route
from sophon.task_types import TASK_TYPES

__all__ = [
    "TASK_TYPES",
    "Classified",
    "Factors",
    "Fitness",
    "classify",
    "complexity",
    "complexity_factors",
    "compute_tier",
    "explain_route",
    "fitness",
]
