"""Settings section of failover: retries of a model call, and the circuit breaker of a provider."""

from datetime import timedelta

from sophon.settings.types.field_types import Duration, WholeNumber
from sophon.settings.types.section import Field, SettingsSection


class FailoverSettings(SettingsSection):
    """How often a failing model is tried again, and when its provider is left alone.

    Source of the circuit breaker: reference/clawdesk.md 1.2.
    """

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
    breaker_failures: WholeNumber = Field(
        default=3, ge=1, le=1000, description="Failed calls within BreakerWindow that open the provider's circuit."
    )
    breaker_window: Duration = Field(
        default=timedelta(seconds=60), description="Window in which failed calls are counted."
    )
    breaker_open: Duration = Field(
        default=timedelta(seconds=60),
        description="How long the circuit stays open before one call probes the provider.",
    )
