"""Typed keys under which the stages of classification, routing and scoring leave their results on the context."""

from collections.abc import Awaitable, Callable

from sophon.extensions import Key
from sophon.learning.complexity_factors import Factors
from sophon.learning.contract import Scorer, Vector
from sophon.learning.fitness import Fitness
from sophon.learning.task_profile import TaskProfile
from sophon.routing.route_record import RouteRecord

TASK_PROFILE: Key[TaskProfile] = Key("routing.task_profile", TaskProfile.to_json, TaskProfile.from_json)
"""The profile of the message that the turn answers; set by Classification, else by CapabilityRouting."""

TASK_FACTORS: Key[Factors] = Key("routing.task_factors")
"""The seven factors of complexity, and the confidence in them; set by Classification."""

TASK_TIER: Key[int] = Key("routing.task_tier", int, int)
"""The published tier of the message, 1 to 3; set by Classification."""

ROUTE: Key[RouteRecord] = Key("routing.route", RouteRecord.to_json, RouteRecord.from_json)
"""What routing decided and why; set by CapabilityRouting."""

SCORE: Key[Fitness] = Key("routing.score")
"""Scores of the reply; set by a scoring middleware on its way out, and read by those around it."""

SCORER: Key[Scorer] = Key("routing.scorer")
"""The scorer of the turn; set by a scoring middleware on its way in. Routing then scores nothing."""

OBSERVE_QUALITY: Key[Callable[[float], Awaitable[None]]] = Key("routing.observe_quality")
"""Adds the quality of the answer, 0 to 1, to the averages of the model that gave it; set by CapabilityRouting where
there is a `SCORER`, and called by that middleware."""

MESSAGE_VECTOR: Key[Vector] = Key("routing.message_vector")
"""Embedding of the message, if classification or routing needed it."""
