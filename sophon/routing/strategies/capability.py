"""Capability routing strategy: the first model that is good at the message's task type."""

from collections.abc import Mapping, Sequence

from sophon.models.gateway.provider import Candidate
from sophon.routing.contract import RouteDecision, RouteRequest
from sophon.routing.profile_of_request import profile_of
from sophon.routing.strategies.priority import put_capable_first, put_first
from sophon.task_types import TaskType

TASK_CAPABILITIES: Mapping[TaskType, tuple[str, ...]] = {
    "code_generation": ("code generation", "code"),
    "code_review": ("code review", "code"),
    "research": ("research", "long context"),
    "creative": ("creative", "writing"),
    "analysis": ("reasoning", "complex"),
    "tool_use": ("tool use", "function calling"),
    "chat": ("fast", "quick"),
}
"""Names of the capabilities that a task type asks for, the best one first."""


class CapabilityStrategy:
    """Chooses the session's model, else one with the capability of the plan step's hint or of the task type.

    Without such a model the order is that of priority.
    """

    def route(self, request: RouteRequest, eligible: Sequence[Candidate]) -> RouteDecision:
        """See `RoutingStrategy`."""
        if request.session_choice is not None:
            return RouteDecision(put_first(request.session_choice, eligible), "the session's model")
        kind = profile_of(request).task_type
        wanted = (request.capability,) if request.capability is not None else TASK_CAPABILITIES[kind]
        for capability in wanted:
            found = put_capable_first(capability, eligible)
            if found is not None:
                return RouteDecision(found, f"{kind}: capability {capability!r}")
        return RouteDecision(list(eligible), f"{kind}: no model has {' or '.join(map(repr, wanted))}, by priority")
