"""Routing contract: what a strategy is asked, what it answers, and boosters."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Protocol, TypeAlias

from sophon._python.lazy_dataclass import dataclass
from sophon.models.gateway.provider import Candidate
from sophon.routing.model_directory import NO_MODELS, ModelDirectory
from sophon.settings.sections.permissions import RoutingPermissions

if TYPE_CHECKING:
    from sophon.learning.contract import CachedPolicy
    from sophon.learning.task_profile import TaskProfile

Booster: TypeAlias = Callable[[str], str | None]
"""Returns the answer to a message that needs no model, else None. It must be fast: it is called for every message."""

NO_PERMISSIONS = RoutingPermissions()


@dataclass(frozen=True, slots=True)
class RouteRequest:
    """Routing request: message text, the session's chosen model, and the capability hint of a plan step.

    The rest is for other strategies, which take a missing profile for that of an empty message: what the person's
    permissions allow; the models of the eligible providers; USD left of the person's limits, None without a limit; the
    decisions for similar messages, the latest first.
    """

    text: str
    session_choice: Candidate | None = None
    capability: str | None = None
    profile: "TaskProfile | None" = None
    permissions: RoutingPermissions = NO_PERMISSIONS
    models: ModelDirectory = NO_MODELS
    remaining_cost: float | None = None
    policies: "Sequence[CachedPolicy]" = ()
    now: float = 0.0
    """Monotonic seconds."""
    is_trial: bool = False
    """Whether the decision is only shown; then it changes no state of the strategy."""


@dataclass(frozen=True, slots=True)
class RouteDecision:
    """Candidates in order, and why; `flags` as in `RouteRecord`. Without candidates no model may be asked.

    `answer` is that of a booster, and no model is asked then.
    """

    candidates: Sequence[Candidate]
    reason: str = ""
    tier: str = ""
    flags: tuple[str, ...] = ()
    answer: str | None = None
    model_tiers: Mapping[str, str] = field(default_factory=dict[str, str])
    """Tier of each candidate by its `provider/name`, where that is not `tier`."""


class RoutingStrategy(Protocol):
    """Routing rule; `eligible` holds the default models of the eligible providers, in priority order."""

    def route(self, request: RouteRequest, eligible: Sequence[Candidate]) -> Sequence[Candidate] | RouteDecision:
        """Return the candidates, first choice first, or a decision that also says why; only eligible providers."""
        ...
