"""Settings sections of the budgets: per provider and per turn."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Annotated, NamedTuple

from sophon._python.value_rules import ValueRules
from sophon.settings.sections.providers import PriceSettings
from sophon.settings.sections.routing import find_unknown_task_types
from sophon.settings.types.field_types import Duration, FiniteNumber, TimeZoneName, WholeNumber
from sophon.settings.types.section import Field, SettingsSection

EVERY_PROVIDER = "*"
"""Key in Budget.Providers for all providers without an entry of their own."""


def _no_limits() -> "dict[str, ProviderBudgetSettings]":
    return {EVERY_PROVIDER: ProviderBudgetSettings.defaults()}


class ProviderBudgetSettings(SettingsSection):
    """Budget of one provider; null means no limit."""

    daily_tokens: WholeNumber | None = Field(
        default=None, ge=0, description="Input and output tokens per day; null means no limit."
    )
    monthly_cost: FiniteNumber | None = Field(default=None, ge=0, description="USD per month; null means no limit.")


class TurnLimits(NamedTuple):
    """Limits of one turn: tokens, USD, tool calls, and seconds of active time; None means no limit."""

    tokens: int | None
    cost: float | None
    tool_calls: int | None
    active_seconds: float | None


class TurnBudgetSettings(SettingsSection):
    """Budget of one turn, including the steps of its plan; null means no limit."""

    changeable = ("tokens", "cost", "tool_calls", "active_time")

    tokens: WholeNumber | None = Field(
        default=1_000_000, ge=1, description="Input and output tokens; null means no limit."
    )
    cost: FiniteNumber | None = Field(
        default=5.0, ge=0, description="USD; null means no limit. A hosted model of unknown price is refused under it."
    )
    tool_calls: WholeNumber | None = Field(default=500, ge=1, description="Tool calls; null means no limit.")
    active_time: Duration | None = Field(
        default=None,
        description="Time of work after which no further tool call starts and the turn sums up, excluding waits for a "
        "person; null: shortly before AgentExecution.MaxExecutionTime.",
    )

    @cached_property
    def limits(self) -> TurnLimits:
        """The limits as plain values: a settings field costs ten times as much to read, and each call reads four."""
        seconds = None if self.active_time is None else self.active_time.total_seconds()
        return TurnLimits(self.tokens, self.cost, self.tool_calls, seconds)


class TaskBudgetSettings(SettingsSection):
    """Budget of one task type: of a turn, where null means the value of Budget.Turn, and of all turns per period."""

    tokens: WholeNumber | None = Field(default=None, ge=1, description="Input and output tokens.")
    cost: FiniteNumber | None = Field(default=None, ge=0, description="USD.")
    tool_calls: WholeNumber | None = Field(default=None, ge=1, description="Tool calls.")
    active_time: Duration | None = Field(default=None, description="Time of work, excluding waits for a person.")
    daily_cost: FiniteNumber | None = Field(
        default=None, ge=0, description="USD per day of all turns of the task type; null means no limit."
    )
    monthly_cost: FiniteNumber | None = Field(
        default=None, ge=0, description="USD per month of all turns of the task type; null means no limit."
    )

    def limit(self, turn: TurnLimits) -> TurnLimits:
        """Return the limits of a turn with the values that are set here in place of its own."""
        return TurnLimits(
            turn.tokens if self.tokens is None else self.tokens,
            turn.cost if self.cost is None else self.cost,
            turn.tool_calls if self.tool_calls is None else self.tool_calls,
            turn.active_seconds if self.active_time is None else self.active_time.total_seconds(),
        )


class BudgetSettings(SettingsSection):
    """Budgets for tokens and cost."""

    providers: Mapping[str, ProviderBudgetSettings] = Field(
        default_factory=_no_limits,
        description="Limits by provider Id; `*` applies to every provider without an entry of its own.",
    )
    time_zone: TimeZoneName = Field(
        default="UTC", description="Time zone of daily and monthly limits, such as Europe/Vienna."
    )
    turn: TurnBudgetSettings = Field(default_factory=TurnBudgetSettings.defaults, description="Budget of one turn.")
    task_types: Mapping[str, TaskBudgetSettings] = Field(
        default_factory=dict[str, TaskBudgetSettings],
        description="Budget by task type, such as `research`; the message is classified for it.",
    )
    alert_shares: tuple[Annotated[FiniteNumber, ValueRules(gt=0, le=1)], ...] = Field(
        default=(0.8, 1.0), description="Shares of a limit at which an alert is sent, once in its day or month."
    )
    default_prices: PriceSettings | None = Field(
        default=None,
        description="Price charged for models whose price is unknown; "
        "null: such a model of a hosted provider is refused while a cost limit is in force.",
    )

    def find_conflicts(self) -> Iterator[tuple[str, str]]:
        """Yield each key that is no task type."""
        yield from find_unknown_task_types("TaskTypes", self.task_types)

    def limits_of_turn(self, task_type: str | None) -> TurnLimits:
        """Return the limits of a turn of a task type; None: it was not classified."""
        entry = self.task_types.get(task_type) if task_type is not None else None
        return self.turn.limits if entry is None else entry.limit(self.turn.limits)

    @property
    def default_price_pair(self) -> tuple[float, float] | None:
        """`DefaultPrices` as (input, output), the form of `ModelInfo.prices`."""
        prices = self.default_prices
        return None if prices is None else (prices.input, prices.output)

    @cached_property
    def has_provider_limits(self) -> bool:
        """Whether any provider has a limit."""
        entries = self.providers.values()
        return any(entry.daily_tokens is not None or entry.monthly_cost is not None for entry in entries)

    def limits_for(self, provider: str) -> ProviderBudgetSettings:
        """Return the limits of a provider: its own entry as a whole, else that of `*`, else no limits."""
        return self.providers.get(provider) or self.providers.get(EVERY_PROVIDER) or ProviderBudgetSettings()
