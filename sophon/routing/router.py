"""Router: decides which models a turn asks by the configured strategy, and learns from how they did."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, cast

from sophon._python.lazy_dataclass import dataclass
from sophon.clock import Clock
from sophon.learning.complexity_tiers import BOOSTER_TAG
from sophon.learning.contract import CachedPolicy, Embedder, PolicyCache, Vector
from sophon.learning.policy_cache import REFRESH
from sophon.learning.task_profile import TaskProfile
from sophon.models.gateway.provider import Candidate, Provider
from sophon.routing.contract import NO_PERMISSIONS, Booster, RouteDecision, RouteRequest, RoutingStrategy
from sophon.routing.demotion_circuit_breakers import ModelDemotions
from sophon.routing.model_directory import ModelDirectory
from sophon.routing.model_tiers import find_borders
from sophon.routing.request_classifier import Classifier
from sophon.routing.route_averages import RouteAverages
from sophon.routing.route_record import RouteRecord
from sophon.routing.strategies.capability import CapabilityStrategy
from sophon.routing.strategies.cost_aware import CostAwareRouting
from sophon.routing.strategies.intelligent import IntelligentRouting
from sophon.routing.strategies.priority import PriorityRouting
from sophon.routing.strategies.static import StaticRouting
from sophon.routing.strategies.tiered import TieredRouting
from sophon.settings.sections.permissions import RoutingPermissions
from sophon.settings.sections.routing import LEARNING_STRATEGIES, RoutingSettings, StrategyName
from sophon.stores.contract import Store
from sophon.stores.route_averages.route_average import RouteObservation
from sophon.stores.vectors.contract import POLICIES

log = logging.getLogger("sophon")

BOOSTER_TIER: Final = "booster"
"""Name of the tier of messages that are answered without a model. Source: clawft, IntelligentRouter."""


@dataclass(frozen=True, slots=True)
class RouteQuery:
    """What a turn asks the router: see `RouteRequest`.

    Without a `profile` the text is classified, and without a `vector` embedded if the decision needs one. Boosters may
    answer where `may_boost` says so, those of the tools, `boosters`, first: with the strategy Intelligent, with
    `asks_boosters`, and for a message with the tag `BOOSTER_TAG`. `strategy` is that of the
    settings of the turn, because a chain may have another one than the router was made with.
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
    asks_boosters: bool = False
    tags: Sequence[str] = ()
    is_trial: bool = False
    strategy: StrategyName | None = None


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
    `REFRESH` where a strategy uses them, because other processes observe too. What is broken, an embedder, the
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
        self.averages = RouteAverages(clock.now)
        self.demotions = ModelDemotions()
        self._clock, self._embedder, self._policies = clock, embedder, policies
        demotions = self.demotions if settings.demotion.enabled else None
        self._parts = StrategyParts(self.averages, demotions)
        self._boosters = Boosters(boosters)
        self._classifier = Classifier(settings.classification, embedder, borders=find_borders(settings))
        names = [settings.strategy, *(each.strategy for each in settings.task_types.values())]
        self.uses_tiers = settings.uses_tiers
        """Whether a strategy in use chooses a tier, for which the permissions of levels apply."""
        self._strategies: dict[tuple[StrategyName, str | None], RoutingStrategy] = {}
        self._directory: tuple[tuple[Provider, ...], ModelDirectory] | None = None
        self._uses_averages = "CostAware" in names
        self._loaded_at: float | None = None
        """Monotonic seconds at which the averages were read last."""
        self._broken: set[str] = set()

    def strategy_name(self, task_type: str | None = None, strategy: StrategyName | None = None) -> StrategyName:
        """Return the name of the strategy, or of that of a task type; `strategy` as in `RouteQuery`."""
        task = self.settings.task_types.get(task_type) if task_type is not None else None
        return (task.strategy if task is not None else None) or strategy or self.settings.strategy

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
        name = self.strategy_name(profile.task_type, query.strategy)
        if vector is None and self._policies is not None and name in LEARNING_STRATEGIES:
            vector = await self._embed(query.text)
        models = self._directory_of(eligible)
        request = RouteRequest(
            query.text,
            query.session_choice,
            query.capability,
            profile,
            query.permissions,
            models,
            query.remaining_cost,
            await self._find_policies(vector) if name in LEARNING_STRATEGIES else (),
            self._clock.monotonic(),
            query.is_trial,
        )
        decision = self._boost(query, name)
        if decision is None:
            decided = self._strategy(name, profile.task_type).route(request, models.filter(eligible))
            decision = decided if isinstance(decided, RouteDecision) else RouteDecision(decided, "by priority")
        decision = _keep_permitted(decision, models)
        first = decision.candidates[0].info.id if decision.candidates else ""
        kind = profile.task_type
        record = RouteRecord(name, first, decision.reason, decision.tier, kind, decision.flags)
        log.debug("routed by %s to %s: %s", name, first or "no model", decision.reason)
        return Routed(decision, record, profile, vector)

    def observe(self, observations: Sequence[RouteObservation]) -> None:
        """Take over what was observed; the caller stores it."""
        self.averages.add(observations)

    def start_call(self, model: str) -> None:
        """Record the start of a model call; `record_call` or `abandon_call` must follow."""
        self.demotions.start_call(model, self._clock.monotonic())

    def abandon_call(self, model: str) -> None:
        """Record that a model call ended without a conclusion about the model, such as by its cancellation."""
        self.demotions.abandon(model)

    def record_call(self, model: str, seconds: float, *, has_failed: bool) -> None:
        """Record the end of a model call, which may demote the model."""
        if not self.settings.demotion.enabled:
            return
        if self.demotions.record(model, self._clock.monotonic(), seconds=seconds, has_failed=has_failed):
            pause = self.demotions.list_demoted(self._clock.monotonic())[model]
            log.warning(
                "%s fails or is slow: its tier goes without it, for %g seconds before it is probed", model, pause
            )

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

    def _boost(self, query: RouteQuery, name: StrategyName) -> RouteDecision | None:
        is_tagged = BOOSTER_TAG in query.tags
        if not query.may_boost or not (is_tagged or query.asks_boosters or name == "Intelligent"):
            return None
        decided = self._boosters.decide(query.text, query.boosters)
        return replace(decided, reason=f"{BOOSTER_TAG}: {decided.reason}") if decided and is_tagged else decided

    async def _load(self, store: Store) -> None:
        now = self._clock.monotonic()
        if self._loaded_at is not None:
            is_due = now - self._loaded_at >= REFRESH.total_seconds()
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

    async def _find_policies(self, vector: Vector | None) -> Sequence[CachedPolicy]:
        if self._policies is None or vector is None:
            return ()
        try:
            await self._read_policy_file(self._policies)
            return await self._policies.lookup(vector)
        except Exception as error:  # noqa: BLE001 - as above
            self._report("policies", "earlier routing decisions cannot be read", error)
            return ()

    async def _read_policy_file(self, policies: PolicyCache) -> None:
        path, embedder = self.settings.policy_file, self._embedder
        if self._has_read_file or path is None or embedder is None:
            return
        self._has_read_file = True
        from sophon.routing.tier_examples_file import load_policy_file  # lazy: few hosts have one

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


@dataclass(frozen=True, slots=True)
class StrategyParts:
    """What the strategies share: observed averages, and demoted models."""

    averages: RouteAverages
    demotions: ModelDemotions | None = None


def create_strategy(
    name: StrategyName, settings: RoutingSettings, parts: StrategyParts, *, model: str | None = None
) -> RoutingStrategy:
    """Return a strategy; `model` is that of Static, by default `Routing.Model`."""
    if name == "Static":
        chosen = model or settings.model
        assert chosen is not None, "the settings require it"
        return StaticRouting(chosen, default_provider=settings.default_provider, fallback_model=settings.fallback_model)
    if name == "Capability":
        return CapabilityStrategy(settings.tier_border)
    if name == "Tiered":
        return TieredRouting(settings, parts.demotions)
    if name == "Intelligent":
        return IntelligentRouting(settings, parts.demotions)
    if name == "CostAware":
        return CostAwareRouting(settings, parts.averages, parts.demotions)
    return PriorityRouting()


class Boosters:
    """The boosters of a process. A message on which one fails, or answers with something else, goes to the next one.

    Such a booster is named once. It is called again, because one message of anybody may be what it fails on.
    """

    def __init__(self, boosters: Sequence[Booster] = ()) -> None:
        self._boosters = tuple(boosters)
        self._named: list[Booster] = []

    def decide(self, text: str, of_tools: Sequence[Booster] = ()) -> RouteDecision | None:
        """Return the decision to answer with the first booster that does; those of the turn's tools are asked first."""
        for booster in (*of_tools, *self._boosters):
            answer = self._ask(booster, text)
            if answer is not None:
                name = getattr(booster, "__name__", type(booster).__name__)
                return RouteDecision((), f"answered by {name} without a model", BOOSTER_TIER, answer=answer)
        return None

    def _ask(self, booster: Booster, text: str) -> str | None:
        asked = cast(Callable[[str], object], booster)  # it is code of the user, which may return anything
        try:
            answer = asked(text)
        except Exception as error:  # noqa: BLE001 - logged there
            self._name(booster, error)
            return None
        if answer is None or isinstance(answer, str):
            return answer or None
        self._name(booster, TypeError(f"it returned {type(answer).__name__}, not a text"))
        return None

    def _name(self, booster: Booster, error: Exception) -> None:
        if booster not in self._named:
            self._named.append(booster)
            log.error("the booster %r failed; the message goes to a model", booster, exc_info=error)
