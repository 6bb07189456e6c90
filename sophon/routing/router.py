"""Router: decides which models a turn asks by the configured strategy, and learns from how they did."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from sophon.clock import Clock
from sophon.lazy_dataclass import dataclass
from sophon.learning.contract import CachedPolicy, Embedder, PolicyCache, Vector
from sophon.learning.task_profile import TaskProfile
from sophon.models.gateway.provider import Candidate, Provider
from sophon.routing.classifier import Classifier
from sophon.routing.contract import NO_PERMISSIONS, Booster, RouteDecision, RouteRequest, RoutingStrategy
from sophon.routing.model_demotion import ModelDemotions
from sophon.routing.model_directory import ModelDirectory
from sophon.routing.route_averages import RouteAverages
from sophon.routing.route_record import RouteRecord
from sophon.routing.strategy_factory import StrategyParts, create_strategy
from sophon.settings.sections.permissions import RoutingPermissions
from sophon.settings.sections.routing import RoutingSettings, StrategyName
from sophon.stores.contract import Store
from sophon.stores.route_averages.contract import RouteObservation
from sophon.stores.vectors.contract import POLICIES

log = logging.getLogger("sophon")


@dataclass(frozen=True, slots=True)
class RouteQuery:
    """What a turn asks the router: see `RouteRequest`.

    Without a `profile` the text is classified, and without a `vector` embedded if the decision needs one. `boosters`
    are asked before those of the settings.
    """

    text: str
    session_choice: Candidate | None = None
    capability: str | None = None
    permissions: RoutingPermissions = NO_PERMISSIONS
    remaining_cost: float | None = None
    profile: TaskProfile | None = None
    vector: Vector | None = None
    boosters: Sequence[Booster] = ()
    may_boost: bool = False
    is_trial: bool = False


@dataclass(frozen=True, slots=True)
class Routed:
    """Decision of the router with what led to it; `vector` is the message's embedding, if one was needed."""

    decision: RouteDecision
    record: RouteRecord
    profile: TaskProfile
    vector: Vector | None = None


class Router:
    """Router of a process, shared by all turns.

    Averages and the policy file, which is relative to `folder`, are read at first use; averages again every
    `Routing.Refresh` where a strategy uses them, because other processes observe too. What is broken, an embedder, the
    policies or the averages, is logged once and then left out: a message is routed all the same.
    """

    def __init__(
        self,
        settings: RoutingSettings,
        *,
        clock: Clock,
        embedder: Embedder | None = None,
        policies: PolicyCache | None = None,
        boosters: Sequence[Booster] = (),
        folder: Path | None = None,
    ) -> None:
        self.settings = settings
        self._folder = folder or Path()
        self._has_read_file = False
        self.averages = RouteAverages(clock.now, settings.quality.expiry)
        self.demotions = ModelDemotions(settings.demotion)
        self._clock, self._embedder, self._policies = clock, embedder, policies
        demotions = self.demotions if settings.demotion.enabled else None
        self._parts = StrategyParts(self.averages, demotions, boosters)
        self._classifier = Classifier(settings.classification, embedder)
        names = [settings.strategy, *(each.strategy for each in settings.task_types.values())]
        self.uses_tiers = settings.uses_tiers
        """Whether a strategy in use chooses a tier, for which the permissions of levels apply."""
        self._uses_policies = policies is not None and "Intelligent" in names
        self._strategies: dict[tuple[StrategyName, str | None], RoutingStrategy] = {}
        self._directory: tuple[tuple[Provider, ...], ModelDirectory] | None = None
        self._uses_averages = "CostAware" in names
        self._loaded_at: float | None = None
        """Monotonic seconds at which the averages were read last."""
        self._broken: set[str] = set()

    def strategy_name(self, task_type: str | None = None) -> StrategyName:
        """Return the name of the strategy, or of that of a task type."""
        task = self.settings.task_types.get(task_type) if task_type is not None else None
        return (task.strategy if task is not None else None) or self.settings.strategy

    async def classify(
        self, text: str, vector: Vector | None = None, *, complexity_boost: float = 0.0
    ) -> tuple[TaskProfile, Vector | None]:
        """Return the task profile of a message, and its embedding if it was needed or given."""
        if vector is None and self._classifier.uses_examples:
            vector = await self._embed(text)
        if self._classifier.uses_examples:
            await self._classifier.load()
        return self._classifier.profile(text, vector, complexity_boost=complexity_boost), vector

    async def route(self, query: RouteQuery, eligible: Sequence[Candidate], store: Store) -> Routed:
        """Return the decision for a message; `eligible` holds the default models of the eligible providers."""
        await self._load(store)
        profile, vector = query.profile, query.vector
        if profile is None:
            profile, vector = await self.classify(query.text, vector)
        if vector is None and self._uses_policies:
            vector = await self._embed(query.text)
        name = self.strategy_name(profile.task_type)
        models = self._directory_of(eligible)
        request = RouteRequest(
            query.text,
            query.session_choice,
            query.capability,
            profile,
            query.permissions,
            models,
            query.remaining_cost,
            await self._find_policy(vector) if name == "Intelligent" else None,
            self._clock.monotonic(),
            query.may_boost,
            query.is_trial,
            query.boosters,
        )
        decided = self._strategy(name, profile.task_type).route(request, models.filter(eligible))
        decision = decided if isinstance(decided, RouteDecision) else RouteDecision(decided, "by priority")
        decision = _keep_permitted(decision, models)
        if decision.candidates and not query.is_trial:
            self.demotions.start_call(decision.candidates[0].info.id, request.now)
        first = decision.candidates[0].info.id if decision.candidates else ""
        kind = profile.task_type
        record = RouteRecord(name, first, decision.reason, decision.tier, kind, decision.flags)
        return Routed(decision, record, profile, vector)

    def observe(self, observations: Sequence[RouteObservation]) -> None:
        """Take over what was observed; the caller stores it."""
        self.averages.add(observations)

    def record_call(self, model: str, seconds: float, *, has_failed: bool) -> None:
        """Record the end of a model call, which may demote the model."""
        if not self.settings.demotion.enabled:
            return
        if self.demotions.record(model, self._clock.monotonic(), seconds=seconds, has_failed=has_failed):
            cooldown = self.settings.demotion.cooldown.total_seconds()
            log.warning("%s fails or is slow: its tier goes without it for %g seconds", model, cooldown)

    async def reset(self, store: Store) -> int:
        """Forget averages and earlier decisions, in the store too, and demotions; return the number of averages."""
        count = await store.route_averages.reset()
        await store.vectors.delete(POLICIES)
        if self._policies is not None:
            self._policies.forget()
        self._has_read_file = False
        self.averages.clear()
        self.demotions.reset()
        return count

    async def _load(self, store: Store) -> None:
        now, interval = self._clock.monotonic(), self.settings.refresh
        if self._loaded_at is not None:
            is_due = interval is not None and now - self._loaded_at >= interval.total_seconds()
            if not (is_due and self._uses_averages):
                return
        self._loaded_at = now
        try:
            self.averages.load(await store.route_averages.list_all())
        except Exception as error:  # noqa: BLE001 - a store that cannot be read must not keep a message from a model
            self._report("averages", "the averages of routing cannot be read", error)

    async def _embed(self, text: str) -> Vector | None:
        if self._embedder is None:
            return None
        try:
            [vector] = await self._embedder.embed([text])
        except Exception as error:  # noqa: BLE001 - as above
            self._report("embedder", "messages cannot be embedded", error)
            return None
        return vector

    async def _find_policy(self, vector: Vector | None) -> CachedPolicy | None:
        if self._policies is None or vector is None:
            return None
        try:
            await self._read_policy_file(self._policies)
            return await self._policies.lookup(vector)
        except Exception as error:  # noqa: BLE001 - as above
            self._report("policies", "earlier routing decisions cannot be read", error)
            return None

    async def _read_policy_file(self, policies: PolicyCache) -> None:
        path, embedder = self.settings.policy_file, self._embedder
        if self._has_read_file or path is None or embedder is None:
            return
        self._has_read_file = True
        from sophon.routing.policy_file import load_policy_file  # lazy: few hosts have one

        names = self.settings.tier_names()
        await load_policy_file(self._folder / path.expanduser(), policies, embedder, self._clock, names)

    def _report(self, part: str, problem: str, error: Exception) -> None:
        """Log the first failure of a part."""
        if part not in self._broken:
            self._broken.add(part)
            log.warning("%s, and messages are routed without them: %s: %s", problem, type(error).__name__, error)

    def _strategy(self, name: StrategyName, task_type: str) -> RoutingStrategy:
        task = self.settings.task_types.get(task_type)
        key = (name, task.model if task is not None else None)
        found = self._strategies.get(key)
        if found is None:
            found = self._strategies[key] = create_strategy(name, self.settings, self._parts, model=key[1])
        return found

    def _directory_of(self, eligible: Sequence[Candidate]) -> ModelDirectory:
        providers = tuple(candidate.provider for candidate in eligible)
        if self._directory is None or self._directory[0] != providers:
            settings = self.settings
            models = ModelDirectory(providers, allow=settings.allow, deny=settings.deny, aliases=settings.aliases)
            self._directory = providers, models
        return self._directory[1]


def _keep_permitted(decision: RouteDecision, models: ModelDirectory) -> RouteDecision:
    """Return the decision without models that the allow and deny lists refuse, whatever the strategy chose."""
    kept = [each for each in decision.candidates if models.permits(each)]
    if len(kept) == len(decision.candidates):
        return decision
    return replace(decision, candidates=kept)
