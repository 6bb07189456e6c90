"""Totals of turns by day and person, for a report."""

from sophon._python.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class TurnTotal:
    """Turns of one day and person by how they ended, for a report; `working_ms` is the sum of their working times.

    `p50_working_ms` and `p95_working_ms` are the working times of half of the turns and of 95 % of them at most: of the
    turn with that rank, the nearest one.
    """

    day: str
    principal: str
    turns: int
    failed: int
    cancelled: int
    working_ms: int
    max_working_ms: int
    tokens: int
    cost_micros: int
    p50_working_ms: int = 0
    p95_working_ms: int = 0


def turn_total_to_json(total: TurnTotal) -> dict[str, str | int]:
    """Return JSON-serialisable data, with the mean working time."""
    data: dict[str, str | int] = {name: getattr(total, name) for name in _TOTAL_FIELDS}
    return {**data, "mean_working_ms": round(total.working_ms / total.turns)}


_TOTAL_FIELDS = (
    *("day", "principal", "turns", "failed", "cancelled", "working_ms", "max_working_ms", "tokens", "cost_micros"),
    *("p50_working_ms", "p95_working_ms"),
)
