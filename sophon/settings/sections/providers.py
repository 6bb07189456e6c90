"""Settings sections of providers, model prices and budgets."""

import zoneinfo
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

from sophon.settings.types.field_types import Duration, FiniteNumber, Flag, ImportPath, WebUrl, WholeNumber
from sophon.settings.types.secrets import Secret
from sophon.settings.types.section import SettingsSection, build_value_error

EVERY_PROVIDER = "*"
"""Key in Budget.Providers for all providers without an entry of their own."""

PYTHON_PROVIDER = "python"
"""Provider type whose model is created by a factory function of the user."""


def _lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


def _time_zone(name: str) -> str:
    try:
        if name != "UTC":  # UTC also works on machines without a time zone database
            zoneinfo.ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise build_value_error(f"{name!r} is not a time zone; write it as Europe/Vienna or UTC") from None
    return name


def _no_limits() -> "dict[str, ProviderBudgetSettings]":
    return {EVERY_PROVIDER: ProviderBudgetSettings()}


class PriceSettings(SettingsSection):
    """Price of a model, in USD per million tokens."""

    input: FiniteNumber = Field(ge=0, description="USD per million input tokens.")
    output: FiniteNumber = Field(ge=0, description="USD per million output tokens.")


class ProviderSettings(SettingsSection):
    """One provider: endpoint, API keys, models and priority."""

    id: str = Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$",
        description="Id of your choice: letters, digits, dot, dash, underscore.",
    )
    type: Annotated[str, BeforeValidator(_lower)] = Field(
        min_length=1,
        description="`openai`, `anthropic`, `ollama`, another provider name of litellm, `offline` or `python`.",
    )
    models: tuple[str, ...] = Field(default=(), description="Names of its models, the preferred one first.")
    keys: tuple[Secret, ...] = Field(default=(), description="API keys; with several, a rate-limited key is paused.")
    priority: WholeNumber = Field(default=1, description="Lower values are tried first; equal ones in list order.")
    active: Flag = Field(default=True, description="Whether the provider is used.")
    base_url: WebUrl | None = Field(default=None, description="URL of another API server.")
    factory: ImportPath | None = Field(
        default=None, description="For `python`: a function of yours that returns the model."
    )
    context_window: WholeNumber | None = Field(
        default=None, ge=1, description="Context window of its models, in tokens; null uses the catalog."
    )
    function_calling: Flag | None = Field(
        default=None, description="Whether its models support native tool calls; null uses the catalog."
    )
    prices: PriceSettings | None = Field(default=None, description="Price of its models; null uses the catalog.")
    timeout: Duration = Field(default=timedelta(minutes=2), description="Timeout of one attempt.")

    def find_conflicts(self) -> Iterator[tuple[str, str]]:
        """Yield a conflict unless a factory is set exactly for the type `python`."""
        if self.type == PYTHON_PROVIDER and self.factory is None:
            yield (
                "Factory",
                f'required for a provider of type {PYTHON_PROVIDER!r}; write it as "package.module:function"',
            )
        if self.type != PYTHON_PROVIDER and self.factory is not None:
            yield "Factory", f"only allowed for a provider of type {PYTHON_PROVIDER!r}, and this one is {self.type!r}"


class ProviderBudgetSettings(SettingsSection):
    """Budget of one provider; null means no limit."""

    daily_tokens: WholeNumber | None = Field(
        default=None, ge=0, description="Input and output tokens per day; null means no limit."
    )
    monthly_cost: FiniteNumber | None = Field(default=None, ge=0, description="USD per month; null means no limit.")


class TurnBudgetSettings(SettingsSection):
    """Budget of one turn, including the steps of its plan; null means no limit."""

    tokens: WholeNumber | None = Field(
        default=1_000_000, ge=1, description="Input and output tokens; null means no limit."
    )
    cost: FiniteNumber | None = Field(default=5.0, ge=0, description="USD; null means no limit.")
    tool_calls: WholeNumber | None = Field(default=500, ge=1, description="Tool calls; null means no limit.")
    active_time: Duration | None = Field(
        default=timedelta(minutes=30), description="Active time, excluding waits for a person; null means no limit."
    )


class BudgetSettings(SettingsSection):
    """Budgets for tokens and cost."""

    providers: Mapping[str, ProviderBudgetSettings] = Field(
        default_factory=_no_limits,
        description="Limits by provider Id; `*` applies to every provider without an entry of its own.",
    )
    time_zone: Annotated[str, AfterValidator(_time_zone)] = Field(
        default="UTC", description="Time zone of daily and monthly limits, such as Europe/Vienna."
    )
    turn: TurnBudgetSettings = Field(default_factory=TurnBudgetSettings, description="Budget of one turn.")

    def limits_for(self, provider: str) -> ProviderBudgetSettings:
        """Return the limits of a provider: its own entry as a whole, else that of `*`, else no limits."""
        return self.providers.get(provider) or self.providers.get(EVERY_PROVIDER) or ProviderBudgetSettings()
