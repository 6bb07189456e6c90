"""Settings sections of providers, model prices, and retries of a model call."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated, TypeAlias

from sophon._python.value_rules import ValueRules
from sophon.settings.types.field_types import Duration, FiniteNumber, Flag, ImportPath, WebUrl, WholeNumber
from sophon.settings.types.secret_references import Secret
from sophon.settings.types.section import Field, SettingsSection

PYTHON_PROVIDER = "python"
"""Provider type whose model is created by a factory function of the user."""


def _lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


Capability: TypeAlias = Annotated[str, ValueRules(pattern=r"\S")]
"""Name of a capability; case, space, dash and underscore are ignored where names are compared."""


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
    type: Annotated[str, ValueRules(before=_lower)] = Field(
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
        default=None,
        ge=1,
        description="Context window of its models, in tokens; null uses the catalog. `ollama` loads a model with it.",
    )
    function_calling: Flag | None = Field(
        default=None, description="Whether its models support native tool calls; null uses the catalog."
    )
    capabilities: tuple[Capability, ...] = Field(
        default=(), description="What all its models are good at (`code generation`, `fast`), beside the catalog."
    )
    model_capabilities: dict[str, tuple[Capability, ...]] = Field(
        default={}, description="What one of its models is good at: model name to capabilities."
    )
    think_tags: Flag | None = Field(
        default=None,
        description="Whether its models write their reasoning between `<think>` tags, which then is no part of the "
        "answer; null means only for `ollama`. For servers with OpenAI's API, and `ollama`.",
    )
    keep_alive: Duration | None = Field(
        default=None,
        description="For `ollama`: time that a model stays loaded after a request; null leaves it to the server.",
    )
    prices: PriceSettings | None = Field(default=None, description="Price of its models; null uses the catalog.")
    timeout: Duration = Field(
        default=timedelta(minutes=10),
        description="Time without any byte from the provider, comments included; of a reply that is not streamed, the "
        "time of the whole reply.",
    )
    idle_timeout: Duration = Field(
        default=timedelta(minutes=10),
        description="Time in which a streaming model writes nothing: no text, reasoning or tool call, the first token "
        "included; comments and empty chunks do not count.",
    )
    first_output_timeout: Duration | None = Field(
        default=None,
        description="Time before a reply begins, after which the next provider is called; it holds only while there is "
        "one. null means one minute, and for `ollama` IdleTimeout, because a local model may be slow to load and read.",
    )
    attempt_timeout: Duration = Field(
        default=timedelta(minutes=20),
        description="Time of one attempt, from the request to the last byte; after it has passed, a time-out is not "
        "retried with the same provider.",
    )

    def find_conflicts(self) -> Iterator[tuple[str, str]]:
        """Yield a conflict unless a factory is set exactly for the type `python`, and for capabilities of no model."""
        for name in self.model_capabilities:
            if self.models and name not in self.models:
                yield "ModelCapabilities", f"{name!r} is not in Models ({', '.join(self.models)})"
        if self.type == PYTHON_PROVIDER and self.factory is None:
            yield (
                "Factory",
                f'required for a provider of type {PYTHON_PROVIDER!r}; write it as "package.module:function"',
            )
        if self.type != PYTHON_PROVIDER and self.factory is not None:
            yield "Factory", f"only allowed for a provider of type {PYTHON_PROVIDER!r}, and this one is {self.type!r}"


class FailoverSettings(SettingsSection):
    """How often a failing model is tried again."""

    max_retries: WholeNumber = Field(
        default=3, ge=0, le=10, description="Further attempts at a model after the first; another key is no retry."
    )
    rate_limit_waits: WholeNumber | None = Field(
        default=None,
        ge=0,
        le=10,
        description="How often a rate limit is waited out at the same model, for a minute at most, before the next "
        "provider is called; null: only waits up to 8 s, as often as MaxRetries.",
    )
