"""Results of learning: trajectories of finished turns, and what routing knows of models."""

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any, NotRequired, cast

from sophon._python.lazy_typed_dict import TypedDict
from sophon.learning.trajectories import Trajectory
from sophon.settings.sections.routing import SelectionName, StrategyName
from sophon.stores.route_averages.route_average import RouteAverage
from sophon_hosting.features.iso_time import to_iso


class TrajectoryView(TypedDict):
    """What is kept of a finished turn; `similarity` to a text that was asked about. The cost is in micro-USD."""

    run_id: str
    session_id: str
    principal: str
    at: str
    request: str
    reply: str
    task_type: str
    complexity: float | None
    tier: str
    model: str
    strategy: str
    finish_reason: str
    tools: list[str]
    scores: dict[str, float]
    quality: float | None
    cost_micro_usd: int | None
    duration_ms: int
    output_tokens: int
    feedback: float | None
    judge: str
    similarity: NotRequired[float]


class TrajectoryList(TypedDict):
    """Trajectories in the order that was asked for."""

    items: list[TrajectoryView]


class RouteAverageView(TypedDict):
    """Averages of a model for a tier and a task type; null for a value that was never observed."""

    model: str
    tier: str
    task_type: str
    calls: int
    failures: int
    scored: int
    cost_micros: float | None
    latency_ms: float | None
    quality: float | None
    updated_at: str | None
    rated: int
    said: float | None


class RoutingTier(TypedDict):
    """A tier of models, with the bounds of the complexity that it is for; none without bounds."""

    name: str
    models: list[str]
    complexity: list[float]


class RoutingOverview(TypedDict):
    """Strategy and tiers of routing, with the averages of models."""

    strategy: StrategyName
    selection: SelectionName
    tiers: list[RoutingTier]
    items: list[RouteAverageView]


class RouteExplanation(TypedDict):
    """Which models a message would be sent to, and why, as text."""

    explanation: str


class ResetAverages(TypedDict):
    """Number of averages that were deleted."""

    deleted: int


def trajectory_to_json(trajectory: Trajectory) -> TrajectoryView:
    """Return what is kept of a finished turn as JSON."""
    return cast(TrajectoryView, trajectory.to_json())


def trajectory_from_json(view: TrajectoryView) -> Trajectory:
    """Return what a host has sent of a finished turn."""
    sent: Mapping[str, Any] = {**view, "at": datetime.fromisoformat(view["at"]), "tools": tuple(view["tools"])}
    return Trajectory(**{each.name: sent[each.name] for each in fields(Trajectory) if each.name in sent})


def route_average_to_json(average: RouteAverage) -> RouteAverageView:
    """Return the averages of a model as JSON."""
    return {
        "model": average.model,
        "tier": average.tier,
        "task_type": average.task_type,
        "calls": average.calls,
        "failures": average.failures,
        "scored": average.scored,
        "cost_micros": average.cost_micros,
        "latency_ms": average.latency_ms,
        "quality": average.quality,
        "updated_at": to_iso(average.updated_at),
        "rated": average.rated,
        "said": average.said,
    }
