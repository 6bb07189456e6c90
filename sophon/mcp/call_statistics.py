"""Statistics of the calls of one server's tools since the host has started."""

from typing import Any, Final

from sophon.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class CallStatistics:
    """Calls of one tool: how many, how many failed, the last error and the last duration."""

    calls: int = 0
    failures: int = 0
    last_error: str = ""
    last_duration_ms: int = 0

    def with_call(self, seconds: float, error: str = "") -> "CallStatistics":
        """Return the statistics with one more call; with `error` it failed."""
        return CallStatistics(
            self.calls + 1, self.failures + bool(error), error or self.last_error, round(seconds * 1000)
        )

    def to_json(self) -> dict[str, Any]:
        """Return the fields of the HTTP API."""
        return {
            "calls": self.calls,
            "failures": self.failures,
            "last_error": self.last_error,
            "last_duration_ms": self.last_duration_ms,
        }


NO_CALLS: Final = CallStatistics()
