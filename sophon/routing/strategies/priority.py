"""Priority routing: the session's choice, a capability hint, then the providers in their priority order."""

from collections.abc import Sequence

from sophon.models.capabilities import find_capable
from sophon.models.gateway.provider import Candidate
from sophon.routing.contract import RouteRequest


class PriorityRouting:
    """Default strategy: the session's choice, else the first model with the capability, else by priority; then
    fallbacks.

    A fallback provider uses its first model with the capability, else its default one. A capability that no model has
    is ignored; case, space, dash and underscore in its name do not count. Source: Sophon's guide, capability routing.
    """

    def route(self, request: RouteRequest, eligible: Sequence[Candidate]) -> list[Candidate]:
        """See `RoutingStrategy`."""
        if request.session_choice is not None:
            return put_first(request.session_choice, eligible)
        if request.capability is None:
            return list(eligible)
        return put_capable_first(request.capability, eligible) or list(eligible)


def put_first(chosen: Candidate, eligible: Sequence[Candidate]) -> list[Candidate]:
    """Return the chosen model, then those of the other providers."""
    return [chosen, *(candidate for candidate in eligible if candidate.provider is not chosen.provider)]


def put_capable_first(capability: str, eligible: Sequence[Candidate]) -> list[Candidate] | None:
    """Return the first model with a capability, then one of each other provider; None if no model has it."""
    capable = [found for candidate in eligible if (found := find_capable(capability, candidate)) is not None]
    if not capable:
        return None
    able = {found.provider.id: found for found in capable}
    return put_first(capable[0], [able.get(candidate.provider.id, candidate) for candidate in eligible])
