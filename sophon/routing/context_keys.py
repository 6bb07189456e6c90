"""Typed keys under which the stages of classification, routing and scoring leave their results on the context."""

from sophon.extensions import Key
from sophon.learning.contract import Scorer, Vector
from sophon.learning.fitness import Fitness
from sophon.learning.task_profile import TaskProfile
from sophon.routing.route_record import RouteRecord

TASK_PROFILE: Key[TaskProfile] = Key("routing.task_profile", TaskProfile.to_json, TaskProfile.from_json)
"""The profile of the message that the turn answers; set by Classification, else by CapabilityRouting."""

ROUTE: Key[RouteRecord] = Key("routing.route", RouteRecord.to_json, RouteRecord.from_json)
"""What routing decided and why; set by CapabilityRouting."""

SCORE: Key[Fitness] = Key("routing.score")
"""Scores of the reply; set by a scoring middleware on its way out, and read by those around it. There are none of an
answer of which the scorer has no opinion."""

SCORER: Key[Scorer] = Key("routing.scorer")
"""The scorer of the turn; set by a scoring middleware on its way in."""

ANSWER_TIER: Key[str] = Key("routing.answer_tier", str, str)
"""Tier of the model that answered last; after a failover it is not that of the route."""

MESSAGE_VECTOR: Key[Vector] = Key("routing.message_vector")
"""Embedding of the message, if classification or routing needed it."""


REMAINING_COST: Key[float] = Key("routing.remaining_cost")
"""USD that the person's limits leave for this turn; set by Budget if there is a limit."""
