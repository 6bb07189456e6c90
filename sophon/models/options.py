"""How patient the gateway is: retries, waits and cool-downs."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayOptions:
    """Times are in seconds. Sources: reference/sophon.md 5.12; what it leaves open is decided here.

    A wait that a provider asks for (Retry-After) is kept to the second, and never cut short: beyond `patience_seconds`
    the next candidate is asked instead; when there is none, `last_patience_seconds` (one minute, the usual period of a
    rate limit) is still waited, and beyond that the error leaves at once with its `retry_after`.
    """

    retries: int = 3
    """Further attempts on one model after the first; a change of key is none."""
    base_seconds: float = 0.25
    cap_seconds: float = 8.0
    jitter: float = 0.2
    """Share of a wait by which it may be shorter or longer; the cap holds for what comes out."""
    cool_seconds: float = 60.0
    """How long a key rests after a 429 without Retry-After."""
    patience_seconds: float = 30.0
    last_patience_seconds: float = 60.0
    timeout_seconds: float | None = None
    """Limit of one attempt; None leaves it to the model's adapter, which knows whether it streams."""
