"""Route record: what routing decided for a turn and why, as plain data for the trace and for learning."""

from collections.abc import Mapping
from typing import Any

from sophon._python.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class RouteRecord:
    """Decision of a routing strategy. `model` is `provider/name` of the first candidate; `tier` is empty without tiers.

    `flags`: `escalated` (a tier above the permitted one), `budget` (a cheaper tier because of a limit), `constrained`
    (not even the cheapest tier fits the limit), `unsure` (a tier up), `policy` (an earlier decision), `demoted` (a tier
    was left out because its models fail), `blamed` (the tier above one that answered a similar message badly).
    """

    strategy: str
    model: str
    reason: str = ""
    tier: str = ""
    task_type: str = ""
    flags: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the record as JSON data."""
        return {
            "strategy": self.strategy,
            "model": self.model,
            "reason": self.reason,
            "tier": self.tier,
            "task_type": self.task_type,
            "flags": list(self.flags),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "RouteRecord":
        """Parse the output of `to_json`."""
        strategy, model, reason = str(data["strategy"]), str(data["model"]), str(data["reason"])
        return cls(strategy, model, reason, str(data["tier"]), str(data["task_type"]), tuple(data["flags"]))
