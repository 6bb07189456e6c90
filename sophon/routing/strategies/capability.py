"""Capability routing strategy: a model for the kind of message, by task type, pictures and complexity."""

from collections.abc import Mapping, Sequence
from typing import Final, Literal, TypeAlias

from sophon.learning.task_profile import TaskProfile
from sophon.models.gateway.provider import Candidate
from sophon.routing.contract import RouteDecision, RouteRequest
from sophon.routing.profile_of_request import profile_of
from sophon.routing.strategies.priority import put_capable_first, put_first
from sophon.task_types import TaskType

ModelType: TypeAlias = Literal["vision", "code", "quick", "complex", "research", "creative", "tools"]

TYPE_CAPABILITIES: Final[Mapping[ModelType, tuple[str, ...]]] = {
    "vision": ("vision",),
    "code": ("code generation", "code"),
    "quick": ("fast", "quick"),
    "complex": ("reasoning", "complex"),
    "research": ("research", "long context"),
    "creative": ("creative", "writing"),
    "tools": ("tool use", "function calling"),
}
"""Names of the capabilities that a type of model has, the best one first. Source of the first four: WASP;
a message with pictures asks for vision by `RouteRequest.capability`, with every strategy."""

TASK_MODELS: Final[Mapping[TaskType, ModelType]] = {
    "code_generation": "code",
    "code_review": "code",
    "research": "research",
    "creative": "creative",
    "analysis": "complex",
    "tool_use": "tools",
    "chat": "quick",
}


class CapabilityStrategy:
    """Chooses the session's model, else one with the capability of the plan step's hint or of the kind of message.

    Without such a model the order is that of priority. `border` is the complexity from which a message without keywords
    asks for a model for complex work, and not for a quick one.
    """

    def __init__(self, border: float) -> None:
        self._border = border

    def route(self, request: RouteRequest, eligible: Sequence[Candidate]) -> RouteDecision:
        """See `RoutingStrategy`."""
        if request.session_choice is not None:
            return RouteDecision(put_first(request.session_choice, eligible), "the session's model")
        kind = suggest_type(profile_of(request), self._border)
        wanted = (request.capability,) if request.capability is not None else TYPE_CAPABILITIES[kind]
        name = request.capability or kind
        for capability in wanted:
            found = put_capable_first(capability, eligible)
            if found is not None:
                return RouteDecision(found, f"{name}: capability {capability!r}")
        return RouteDecision(list(eligible), f"{name}: no model has {' or '.join(map(repr, wanted))}, by priority")


def suggest_type(profile: TaskProfile, border: float) -> ModelType:
    """Return the type of model that suits a message without pictures."""
    found = TASK_MODELS[profile.task_type]
    return "complex" if found == "quick" and profile.complexity >= border else found
