"""Routing contract: what a strategy is asked, what it answers, and boosters."""

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Protocol, TypeAlias

from sophon.lazy_dataclass import dataclass
from sophon.learning.contract import CachedPolicy
from sophon.learning.task_profile import TaskProfile
from sophon.models.gateway.provider import Candidate
from sophon.routing.model_directory import ModelDirectory
from sophon.settings.sections.permissions import RoutingPermissions

Booster: TypeAlias = Callable[[str], str | None]
"""Returns the answer to a message that needs no model, else None. It must be fast: it is called for every message."""

NO_PERMISSIONS = RoutingPermissions()


@dataclass(frozen=True, slots=True)
class RouteRequest:
    """Routing request: message text, the session's chosen model, and the capability hint of a plan step.

    The rest is for strategies of tiers: the task profile; what the person's permissions allow; the models of the
    eligible providers; USD left of the person's limits, None without a limit; the decision for a similar message.
    """

    text: str
    session_choice: Candidate | None = None
    capability: str | None = None
    profile: TaskProfile = TaskProfile()
    permissions: RoutingPermissions = NO_PERMISSIONS
    models: ModelDirectory = field(default_factory=ModelDirectory)
    remaining_cost: float | None = None
    policy: CachedPolicy | None = None
    now: float = 0.0
    """Monotonic seconds."""


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


class RoutingStrategy(Protocol):
    """Routing rule; `eligible` holds the default models of the eligible providers, in priority order."""

    def route(self, request: RouteRequest, eligible: Sequence[Candidate]) -> Sequence[Candidate] | RouteDecision:
        """Return the candidates, first choice first, or a decision that also says why; only eligible providers."""
        ...
