"""The settings of models and money: providers, and the budgets that hold them."""

import zoneinfo
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

from sophon.settings.secrets import Secret
from sophon.settings.section import Section, refused
from sophon.settings.values import Duration, Flag, ImportPath, Number, WebAddress, Whole

EVERY_PROVIDER = "*"
"""The key in Budget.Providers for all that have no entry of their own."""

PYTHON = "python"
"""The provider type whose model is made by a function of the user's."""


def _lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


def _time_zone(name: str) -> str:
    try:
        if name != "UTC":  # UTC holds on machines without a time zone database too
            zoneinfo.ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise refused(f"{name!r} is not a time zone; write it as Europe/Vienna or UTC") from None
    return name


def _no_limits() -> "dict[str, ProviderBudgetSettings]":
    return {EVERY_PROVIDER: ProviderBudgetSettings()}


class PriceSettings(Section):
    """What a model costs, in USD per million tokens."""

    input: Number = Field(ge=0, description="USD per million tokens read.")
    output: Number = Field(ge=0, description="USD per million tokens written.")


class ProviderSettings(Section):
    """One way to a model: whose it is, its keys, and its place in the order."""

    id: str = Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", description="Your name for it: letters, digits, dot, dash, underscore."
    )
    type: Annotated[str, BeforeValidator(_lower)] = Field(
        min_length=1,
        description="`openai`, `anthropic`, `ollama`, another name that litellm knows, `offline` or `python`.",
    )
    models: tuple[str, ...] = Field(default=(), description="Names of its models, the preferred one first.")
    keys: tuple[Secret, ...] = Field(default=(), description="Its keys; with several, one that is limited is rested.")
    priority: Whole = Field(default=1, description="Lower is asked first; equal ones in the order of the list.")
    active: Flag = Field(default=True, description="false leaves it out.")
    base_url: WebAddress | None = Field(default=None, description="Another address for its API.")
    factory: ImportPath | None = Field(
        default=None, description="For `python`: a function of yours that gives the model."
    )
    context_window: Whole | None = Field(
        default=None, ge=1, description="Tokens its models can read; null asks the catalog."
    )
    function_calling: Flag | None = Field(
        default=None, description="Whether its models call tools natively; null asks the catalog."
    )
    prices: PriceSettings | None = Field(default=None, description="What its models cost; null asks the catalog.")
    timeout: Duration = Field(default=timedelta(minutes=2), description="Time one attempt may take.")

    def conflicts(self) -> Iterator[tuple[str, str]]:
        """A factory belongs to the type `python`, and only to it."""
        if self.type == PYTHON and self.factory is None:
            yield "Factory", f'a provider of type {PYTHON!r} needs one; write it as "package.module:function"'
        if self.type != PYTHON and self.factory is not None:
            yield "Factory", f"only a provider of type {PYTHON!r} has one, and this one is {self.type!r}"


class ProviderBudgetSettings(Section):
    """What may be spent with one provider; null is no limit."""

    daily_tokens: Whole | None = Field(
        default=None, ge=0, description="Tokens a day, read and written; null is no limit."
    )
    monthly_cost: Number | None = Field(default=None, ge=0, description="USD a month; null is no limit.")


class TurnBudgetSettings(Section):
    """What one turn may spend, the steps of its plan included; null is no limit."""

    tokens: Whole | None = Field(default=1_000_000, ge=1, description="Tokens, read and written; null is no limit.")
    cost: Number | None = Field(default=5.0, ge=0, description="USD; null is no limit.")
    tool_calls: Whole | None = Field(default=500, ge=1, description="Tool calls; null is no limit.")
    active_time: Duration | None = Field(
        default=timedelta(minutes=30), description="Time at work, waiting for people not counted; null is no limit."
    )


class BudgetSettings(Section):
    """The limits on tokens and money."""

    providers: Mapping[str, ProviderBudgetSettings] = Field(
        default_factory=_no_limits,
        description="Limits by provider Id; `*` is for every provider that has no entry of its own.",
    )
    time_zone: Annotated[str, AfterValidator(_time_zone)] = Field(
        default="UTC", description="Where days and months begin: a name such as Europe/Vienna."
    )
    turn: TurnBudgetSettings = Field(default_factory=TurnBudgetSettings, description="What one turn may spend.")

    def limits_of(self, provider: str) -> ProviderBudgetSettings:
        """The limits of a provider: its own entry as a whole, else that of `*`, else none."""
        return self.providers.get(provider) or self.providers.get(EVERY_PROVIDER) or ProviderBudgetSettings()
