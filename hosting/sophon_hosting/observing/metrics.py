"""What a host counts, for Prometheus; docs/metrics.md has the table.

Labels are bounded: what a client or a model can name freely becomes `other`, and there are no ids among them.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any, get_args

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)

from sophon import events
from sophon._version import __version__
from sophon.messages import FinishReason, Outcome
from sophon.models.model import Purpose
from sophon_hosting.queue.contract import QueueStatistics

OTHER = "other"
TURN_SECONDS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800)
TOOL_SECONDS = (0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 120)
ERROR_CODES = frozenset(
    {
        "authentication", "bad_request", "budget_exceeded", "chain", "context_overflow", "error", "gave_up", "input",
        "internal", "interrupted", "message_too_large", "model", "model_timeout", "no_provider", "not_found", "ok",
        "overloaded", "provider_unavailable", "rate_limited", "store", "timeout",
    }
)  # fmt: skip
"""Of tasks that failed and of attempts; what is not here is counted as `other`."""

DECISIONS = frozenset({"approve", "edit", "reject"})
STATISTICS: Mapping[str, str] = {
    "waiting": "Tasks that wait.",
    "in_flight": "Tasks that are worked on.",
    "held_lanes": "Sessions that wait for a person.",
    "dead": "Tasks that were given up.",
    "capacity": "Tasks that may wait.",
    "paused": "1 while no turn is begun.",
    "oldest_waiting_seconds": "How long the task that waits longest has waited.",
}


class Metrics:
    """Listens to the events of a host. `tools` and `models` are the names that have a label of their own."""

    def __init__(self, tools: Collection[str] = (), models: Collection[str] = ()) -> None:
        self.registry = CollectorRegistry()
        self._tools, self._models = frozenset(tools), frozenset(models)
        self._counters()
        self._gauges()
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        self._heard: Mapping[type[events.Event], Callable[[Any], None]] = {
            events.TaskQueued: lambda _: self.queued.inc(),
            events.TaskStarted: lambda _: self.started.inc(),
            events.TaskCompleted: self._completed,
            events.TaskFailed: self._failed,
            events.TaskCancelled: self._cancelled,
            events.ToolCallCompleted: self._tool,
            events.ModelAttempt: self._attempt,
            events.ApprovalRequested: lambda _: self.asked.inc(),
            events.ApprovalResolved: self._decided,
            events.BudgetAlert: lambda _: self.budget_alerts.inc(),
            events.LoopWarning: lambda _: self.loop_warnings.inc(),
            events.ContextCompacted: lambda _: self.compactions.inc(),
        }

    def emit(self, event: events.Event, /) -> None:
        """Count an event."""
        heard = self._heard.get(type(event))
        if heard is not None:
            heard(event)

    def render(self, statistics: QueueStatistics, clients: int = 0) -> bytes:
        """The text that Prometheus reads."""
        for name, gauge in self.queue.items():
            gauge.set(getattr(statistics, name))
        self.clients.set(clients)
        return generate_latest(self.registry)

    def _counters(self) -> None:
        self.queued = self._counter("sophon_tasks_queued", "Messages that were accepted.")
        self.started = self._counter("sophon_tasks_started", "Turns that began.")
        self.ended = self._counter("sophon_tasks_ended", "Tasks that have their outcome.", "status", "reason")
        self.turn = Histogram(
            "sophon_turn_duration_seconds", "How long turns worked.", registry=self.registry, buckets=TURN_SECONDS
        )
        self.tool_calls = self._counter("sophon_tool_calls", "Tool calls that ended.", "tool", "outcome")
        self.tool_time = Histogram(
            "sophon_tool_duration_seconds",
            "How long tools ran.",
            ["tool"],
            registry=self.registry,
            buckets=TOOL_SECONDS,
        )
        self.attempts = self._counter("sophon_model_attempts", "Calls of models.", "model", "purpose", "outcome")
        self.model_time = Histogram(
            "sophon_model_duration_seconds",
            "How long models took.",
            ["model"],
            registry=self.registry,
            buckets=TURN_SECONDS,
        )
        self.tokens = self._counter("sophon_model_tokens", "Tokens.", "model", "direction")
        self.cost = self._counter("sophon_model_cost_usd", "Cost in US dollars.", "model")
        self.asked = self._counter("sophon_approvals_requested", "Questions to people.")
        self.decided = self._counter("sophon_approvals_resolved", "Answers, by people or by time.", "decision")
        self.budget_alerts = self._counter("sophon_budget_alerts", "Limits that were near or met.")
        self.loop_warnings = self._counter("sophon_loop_warnings", "Patterns that the loop detector saw.")
        self.compactions = self._counter("sophon_compactions", "Conversations that were shortened for a model.")

    def _gauges(self) -> None:
        self.queue = {
            name: Gauge(f"sophon_queue_{name}", text, registry=self.registry) for name, text in STATISTICS.items()
        }
        self.clients = Gauge("sophon_hub_clients", "Clients that are connected.", registry=self.registry)
        Gauge("sophon_build_info", "1; the version is a label.", ["version"], registry=self.registry).labels(
            __version__
        ).set(1)

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(name, text, labels, registry=self.registry)

    def _completed(self, event: events.TaskCompleted) -> None:
        self.ended.labels("completed", _of(event.finish_reason, get_args(FinishReason))).inc()
        self.turn.observe(event.duration_ms / 1000)

    def _failed(self, event: events.TaskFailed) -> None:
        self.ended.labels("failed", _of(str(event.error.get("code", "")), ERROR_CODES)).inc()
        self.turn.observe(event.duration_ms / 1000)

    def _cancelled(self, event: events.TaskCancelled) -> None:
        self.ended.labels("cancelled", "cancelled").inc()
        self.turn.observe(event.duration_ms / 1000)

    def _tool(self, event: events.ToolCallCompleted) -> None:
        tool = _of(event.tool, self._tools)
        self.tool_calls.labels(tool, _of(event.outcome, get_args(Outcome))).inc()
        self.tool_time.labels(tool).observe(event.duration_ms / 1000)

    def _attempt(self, event: events.ModelAttempt) -> None:
        model = _of(event.model, self._models)
        self.attempts.labels(model, _of(event.purpose, get_args(Purpose)), _of(event.outcome, ERROR_CODES)).inc()
        self.model_time.labels(model).observe(event.duration_ms / 1000)
        self.tokens.labels(model, "input").inc(event.usage.input_tokens)
        self.tokens.labels(model, "output").inc(event.usage.output_tokens)
        self.cost.labels(model).inc(event.usage.cost_micros / 1_000_000)

    def _decided(self, event: events.ApprovalResolved) -> None:
        by_time = event.decided_by == "expiry"
        self.decided.labels("expired" if by_time else _of(event.decision, DECISIONS)).inc()


def _of(name: str, known: Collection[str]) -> str:
    return name if name in known else OTHER
