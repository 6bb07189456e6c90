"""Statistics of the calls of one server's tools since the host has started."""

from typing import Any

from sophon.lazy_dataclass import dataclass


@dataclass(slots=True)
class CallStatistics:
    """Calls of one tool: how many, how many failed, the last error and the last duration."""

    calls: int = 0
    failures: int = 0
    last_error: str = ""
    last_duration_ms: int = 0

    def record(self, seconds: float, error: str = "") -> None:
        """Count a call; with `error` it failed."""
        self.calls += 1
        self.last_duration_ms = round(seconds * 1000)
        if error:
            self.failures += 1
            self.last_error = error

    def to_json(self) -> dict[str, Any]:
        """Return the fields of the HTTP API."""
        return {
            "calls": self.calls,
            "failures": self.failures,
            "last_error": self.last_error,
            "last_duration_ms": self.last_duration_ms,
        }
