"""Settings sections of routing: strategy, tiers, classification, selection, learning, demotion of models."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

from sophon._python.value_rules import ValueRules
from sophon.settings.types.field_types import CaseInsensitive, FiniteNumber, Flag, WholeNumber
from sophon.settings.types.section import Field, SettingsSection
from sophon.task_types import TASK_TYPES, ComplexityMeasure

StrategyName = Literal["Priority", "Static", "Capability", "Tiered", "Intelligent", "CostAware"]
StrategySetting = Annotated[StrategyName, CaseInsensitive()]
SelectionName = Literal["PreferenceOrder", "RoundRobin", "LowestCost", "Random"]
SelectionSetting = Annotated[SelectionName, CaseInsensitive()]
ComplexitySetting = Annotated[ComplexityMeasure, CaseInsensitive()]
ClassifierName = Literal["Keywords", "Examples"]
ClassifierSetting = Annotated[ClassifierName, CaseInsensitive()]

TIERED_STRATEGIES: frozenset[StrategyName] = frozenset({"Tiered", "Intelligent", "CostAware"})
"""Strategies that choose a tier, and respect what permissions say about tiers."""

LEARNING_STRATEGIES: frozenset[StrategyName] = frozenset({"Intelligent", "CostAware"})
"""Strategies that choose by how earlier answers were judged."""

DERIVED_TIERS = ("low", "high")
"""Names of the tiers that are made of the models' prices where Routing.Tiers is empty."""

Share = Annotated[FiniteNumber, ValueRules(ge=0, le=1)]


ComplexityRange = Annotated[
    tuple[Share, Share],
    ValueRules(
        json_schema={
            "type": "array",
            "items": {"type": "number", "minimum": 0, "maximum": 1},
            "minItems": 2,
            "maxItems": 2,
        }
    ),
]
"""Lowest and highest complexity."""


class TierSettings(SettingsSection):
    """A tier of models of similar strength and price."""

    name: str = Field(pattern=r"\S", description="Name of your choice, such as `standard`.")
    models: tuple[str, ...] = Field(
        min_length=1,
        description="Its models as `provider/model`, an alias or a provider's Id, the preferred one first.",
    )
    complexity: ComplexityRange | None = Field(
        default=None,
        description="Lowest and highest complexity of its messages, both included; null: up to TierBorder for the "
        "first tier, from there on for the others.",
    )
    cost_per_1k_tokens: FiniteNumber | None = Field(
        default=None,
        ge=0,
        alias="CostPer1kTokens",
        description="USD per 1,000 tokens, by which tiers are compared with limits; null uses the models' prices.",
    )

    def find_conflicts(self) -> Iterator[tuple[str, str]]:
        """Yield a conflict for a range whose end is before its beginning."""
        if self.complexity is not None and self.complexity[0] > self.complexity[1]:
            yield "Complexity", f"{self.complexity[0]} is more than {self.complexity[1]}"


class EscalationSettings(SettingsSection):
    """Use of a tier above a person's highest one, for complex messages."""

    enabled: Flag = Field(
        default=False, description="Whether people whose permissions allow it get a tier above their highest one."
    )
    max_tiers: WholeNumber = Field(default=1, ge=0, description="Tiers above the highest one, at most.")


class ClassificationSettings(SettingsSection):
    """How a message is classified before it is routed."""

    method: ClassifierSetting = Field(
        default="Keywords", description="`Examples` compares with labelled examples, and needs an embedder."
    )
    whole_words: Flag = Field(
        default=True, description="Whether a keyword matches whole words only; the published one also matches parts."
    )
    complexity: ComplexitySetting = Field(
        default="Factors",
        description="Measure of complexity: `Factors` (seven, with a confidence), or a published formula: `Prompt` "
        "(words, code, steps) or `Keywords` (per word).",
    )
    examples: Mapping[str, tuple[str, ...]] = Field(
        default_factory=dict[str, tuple[str, ...]],
        description="Examples by task type, such as `research`, beside those that Sophon ships.",
    )

    def find_conflicts(self) -> Iterator[tuple[str, str]]:
        """Yield each key that is no task type."""
        yield from find_unknown_task_types("Examples", self.examples)


class QualitySettings(SettingsSection):
    """What the strategy CostAware calls good enough, and how it finds out."""

    min_quality: Share = Field(default=0.7, description="Average quality from which a tier is good enough.")
    exploration: Share = Field(
        default=0.05, description="Share of the turns of a tier whose quality counts that try the next cheaper one."
    )


class DemotionSettings(SettingsSection):
    """Demotion: failing and slow models are left out of their tier for a while."""

    enabled: Flag = Field(default=True, description="Whether failing and slow models are left out of their tier.")


class TaskTypeSettings(SettingsSection):
    """Routing of one task type; null: as for the others."""

    strategy: StrategySetting | None = Field(default=None, description="Strategy; null: that of Routing.")
    tier: str | None = Field(default=None, description="Lowest tier; null: by complexity.")
    max_tier: str | None = Field(default=None, description="Highest tier; null: that of the person.")
    model: str | None = Field(default=None, description="For the strategy Static: the model.")


class RoutingSettings(SettingsSection):
    """Which models a turn asks, in which order."""

    strategy: StrategySetting = Field(
        default="Priority",
        description="While it is not written the chain wasp has Capability. "
        "`Priority`, `Static` (one model), `Capability` (by task type), `Tiered` (by complexity), "
        "`Intelligent` (boosters, earlier decisions, complexity) or `CostAware` (by observed quality).",
    )
    tiers: tuple[TierSettings, ...] = Field(
        default=(), description="Tiers of models, the cheapest first; without any, two are made of the models' prices."
    )
    tier_border: Share = Field(
        default=0.30, description="Complexity from which messages belong to the tiers after the first one."
    )
    selection: SelectionSetting = Field(
        default="PreferenceOrder", description="Model within a tier; one of unknown price comes last in LowestCost."
    )
    escalation: EscalationSettings = Field(
        default_factory=EscalationSettings.defaults, description="Use of a tier above a person's highest one."
    )
    allow: tuple[str, ...] = Field(
        default=(), description="Models that may be used, as patterns such as `openai/*`; empty: all."
    )
    deny: tuple[str, ...] = Field(default=(), description="Models that may not be used, as patterns; they win.")
    aliases: Mapping[str, str] = Field(
        default_factory=dict[str, str], description="Names of your choice for models, such as `smart`."
    )
    model: str | None = Field(default=None, description="For the strategy Static: the model, as `provider/model`.")
    default_provider: str = Field(
        default="openai", description="For the strategy Static: provider of a Model without a slash."
    )
    fallback_model: str | None = Field(
        default=None, description="Model after all others, for people whose tiers include it."
    )
    policy_file: Path | None = Field(
        default=None,
        description="For Intelligent: file with messages and their tiers, one JSON object per line, with which the "
        "earlier decisions begin.",
    )
    classification: ClassificationSettings = Field(
        default_factory=ClassificationSettings.defaults, description="How a message is classified."
    )
    quality: QualitySettings = Field(
        default_factory=QualitySettings.defaults, description="What is good enough, and how it is found out."
    )
    demotion: DemotionSettings = Field(
        default_factory=DemotionSettings.defaults, description="Failing and slow models."
    )
    task_types: Mapping[str, TaskTypeSettings] = Field(
        default_factory=dict[str, TaskTypeSettings], description="Routing by task type, such as `code_generation`."
    )

    def find_conflicts(self) -> Iterator[tuple[str, str]]:
        """Yield each tier named twice, each name that means no tier, and what a strategy lacks."""
        known = [tier.name for tier in self.tiers] or list(DERIVED_TIERS)
        yield from (("Tiers", f"{name!r} is named twice") for name in sorted({n for n in known if known.count(n) > 1}))
        yield from find_unknown_task_types("TaskTypes", self.task_types)
        if self.strategy == "Static" and self.model is None:
            yield "Model", "required for the strategy Static; write it as provider/model"
        for kind, entry in self.task_types.items():
            for key, name in (("Tier", entry.tier), ("MaxTier", entry.max_tier)):
                if name is not None and name not in known:
                    yield f"TaskTypes.{kind}.{key}", describe_unknown_tier(name, known)
            if entry.strategy == "Static" and entry.model is None and self.model is None:
                yield f"TaskTypes.{kind}.Model", "required for the strategy Static; write it as provider/model"

    @cached_property
    def is_default(self) -> bool:
        """Whether every model of every provider may be asked, by priority alone."""
        return self.strategy == "Priority" and not (self.allow or self.deny or self.aliases or self.task_types)

    @cached_property
    def uses_tiers(self) -> bool:
        """Whether a strategy in use chooses a tier, for which the permissions of levels apply."""
        if self.strategy in TIERED_STRATEGIES:
            return True
        return any(each.strategy in TIERED_STRATEGIES for each in self.task_types.values())

    @cached_property
    def learns(self) -> bool:
        """Whether a strategy in use chooses by how earlier answers were judged."""
        return not LEARNING_STRATEGIES.isdisjoint({self.strategy, *(e.strategy for e in self.task_types.values())})

    @property
    def names_models(self) -> bool:
        """Whether the settings name models."""
        return bool(self.tiers or self.aliases or self.task_types or self.model or self.fallback_model)

    def tier_names(self) -> tuple[str, ...]:
        """Return the names of the tiers, the cheapest first."""
        return tuple(tier.name for tier in self.tiers) or DERIVED_TIERS


def find_unknown_task_types(key: str, entries: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield a conflict for each key that is no task type."""
    for name in entries:
        if name not in TASK_TYPES:
            yield f"{key}.{name}", f"there is no task type {name!r}; there are {', '.join(TASK_TYPES)}"


def describe_unknown_tier(name: str, known: tuple[str, ...] | list[str]) -> str:
    """Return the sentence for a name that means no tier."""
    return f"there is no tier {name!r}; there are {', '.join(known)}"
