"""Static routing: always the same model, as `provider/model`."""

from collections.abc import Sequence

from sophon.models.gateway.provider import Candidate
from sophon.routing.contract import RouteDecision, RouteRequest


def split_model_name(name: str, default_provider: str) -> str:
    """Return `provider/model`, split at the first slash; without a slash the provider is the default one.

    Source: clawft, StaticRouter.
    """
    provider, slash, model = name.partition("/")
    return f"{provider}/{model}" if slash else f"{default_provider}/{name}"


class StaticRouting:
    """Chooses the session's model, else the configured one, then the fallback model; no other is ever asked."""

    def __init__(self, model: str, *, default_provider: str = "openai", fallback_model: str | None = None) -> None:
        self._model, self._default_provider, self._fallback_model = model, default_provider, fallback_model

    def route(self, request: RouteRequest, eligible: Sequence[Candidate]) -> RouteDecision:
        """See `RoutingStrategy`. Without an eligible model there are no candidates."""
        chosen = request.models.find(self._model) or request.models.find(
            split_model_name(self._model, self._default_provider)
        )
        fallback = request.models.find(self._fallback_model) if self._fallback_model is not None else None
        own = request.session_choice
        found = [each for each in (own, chosen, fallback) if each is not None]
        reason = "the session's model" if own is not None else f"static: {self._model}"
        if own is None and chosen is None:
            reason = f"the model {self._model!r} of Routing.Model is not available"
        return RouteDecision(found, reason)
