"""What a host counts, for Prometheus; docs/metrics.md has the table.

Labels are bounded: what a client or a model can name freely becomes `other`, and there are no ids among them.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any, get_args

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)

from sophon import events
from sophon._version import __version__
from sophon.messages import FinishReason, Outcome
from sophon.models.model import Purpose
from sophon_hosting.observing.codes import error_codes
from sophon_hosting.observing.series import Series, bounded, sensible
from sophon_hosting.queue.contract import QueueStatistics

TURN_SECONDS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800)
TOOL_SECONDS = (0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 120)
ERROR_CODES = error_codes()
"""Of tasks that failed and of attempts, as of this import; a Metrics looks again, and counts the rest as `other`."""

DECISIONS = frozenset({"approve", "edit", "reject"})
FINISH_REASONS = frozenset[str](get_args(FinishReason))
OUTCOMES = frozenset[str](get_args(Outcome))
PURPOSES = frozenset[str](get_args(Purpose))
LEVELS = frozenset({"warning", "critical", "breaker"})
WAYS = frozenset({"summary", "truncation"})
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
    """Listens to the events of a host. `tools` and `models` (`provider/name`) have a label of their own, and so has
    each provider among them.
    """

    def __init__(self, tools: Collection[str] = (), models: Collection[str] = ()) -> None:
        self.registry = CollectorRegistry()
        self._tools = frozenset(tools)
        self._models = {model: (model.partition("/")[0], model) for model in models}
        self._providers = frozenset(provider for provider, _ in self._models.values())
        self._codes = error_codes()
        self._tasks()
        self._calls()
        self._incidents()
        self._gauges()
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=self.registry)
        self._heard = self._listeners()

    def emit(self, event: events.Event, /) -> None:
        """Count an event; a number in it that makes no sense counts as 0."""
        heard = self._heard.get(type(event))
        if heard is not None:
            heard(event)

    def render(self, statistics: QueueStatistics, clients: int = 0) -> bytes:
        """The text that Prometheus reads."""
        for name, gauge in self.queue.items():
            gauge.set(getattr(statistics, name))
        self.clients.set(clients)
        return generate_latest(self.registry)

    def _listeners(self) -> Mapping[type[events.Event], Callable[[Any], None]]:
        return {
            events.TaskQueued: lambda _: self.queued.inc(),
            events.TaskStarted: lambda _: self.started.inc(),
            events.TaskCompleted: lambda event: self._over(
                "completed", bounded(event.finish_reason, FINISH_REASONS), event.duration_ms
            ),
            events.TaskFailed: lambda event: self._over(
                "failed", bounded(event.error.get("code"), self._codes), event.duration_ms
            ),
            events.TaskCancelled: lambda event: self._over("cancelled", "cancelled", event.duration_ms),
            events.ToolCallCompleted: self._tool,
            events.ModelAttempt: self._attempt,
            events.ApprovalRequested: lambda _: self.asked.inc(),
            events.ApprovalResolved: self._decided,
            events.BudgetAlert: lambda event: self.budget_alerts.of(bounded(event.provider, self._providers)).inc(),
            events.LoopWarning: lambda event: self.loop_warnings.of(bounded(event.level, LEVELS)).inc(),
            events.ContextCompacted: lambda event: self.compactions.of(bounded(event.how, WAYS)).inc(),
        }

    def _tasks(self) -> None:
        self.queued = self._counter("sophon_tasks_queued", "Messages that were accepted.")
        self.started = self._counter("sophon_tasks_started", "Turns that began.")
        self.ended = Series(self._counter("sophon_tasks_ended", "Tasks that have their outcome.", "status", "reason"))
        self.turn = self._histogram("sophon_turn_duration_seconds", "How long turns worked.", TURN_SECONDS)

    def _calls(self) -> None:
        whose = ("provider", "model")
        self.tool_calls = Series(self._counter("sophon_tool_calls", "Tool calls that ended.", "tool", "outcome"))
        self.tool_time = Series(
            self._histogram("sophon_tool_duration_seconds", "How long tools ran.", TOOL_SECONDS, "tool")
        )
        self.attempts = Series(self._counter("sophon_model_attempts", "Calls of models.", *whose, "purpose", "outcome"))
        self.model_time = Series(
            self._histogram("sophon_model_duration_seconds", "How long models took.", TURN_SECONDS, *whose)
        )
        self.tokens = Series(self._counter("sophon_model_tokens", "Tokens.", *whose, "direction"))
        self.cost = Series(self._counter("sophon_model_cost_usd", "Cost in US dollars.", *whose))

    def _incidents(self) -> None:
        self.asked = self._counter("sophon_approvals_requested", "Questions to people.")
        self.decided = Series(self._counter("sophon_approvals_resolved", "Answers, by people or by time.", "decision"))
        self.budget_alerts = Series(self._counter("sophon_budget_alerts", "Limits that were near or met.", "provider"))
        self.loop_warnings = Series(
            self._counter("sophon_loop_warnings", "Patterns that the loop detector saw.", "level")
        )
        self.compactions = Series(
            self._counter("sophon_compactions", "Conversations that were shortened for a model.", "how")
        )

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

    def _histogram(self, name: str, text: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
        return Histogram(name, text, labels, registry=self.registry, buckets=buckets)

    def _over(self, status: str, reason: str, duration_ms: int) -> None:
        self.ended.of(status, reason).inc()
        self.turn.observe(sensible(duration_ms) / 1000)

    def _tool(self, event: events.ToolCallCompleted) -> None:
        tool = bounded(event.tool, self._tools)
        self.tool_calls.of(tool, bounded(event.outcome, OUTCOMES)).inc()
        self.tool_time.of(tool).observe(sensible(event.duration_ms) / 1000)

    def _attempt(self, event: events.ModelAttempt) -> None:
        whose = self._models.get(event.model) or self._unlisted(event.model)
        self.attempts.of(*whose, bounded(event.purpose, PURPOSES), bounded(event.outcome, self._codes)).inc()
        self.model_time.of(*whose).observe(sensible(event.duration_ms) / 1000)
        self.tokens.of(*whose, "input").inc(sensible(event.usage.input_tokens))
        self.tokens.of(*whose, "output").inc(sensible(event.usage.output_tokens))
        self.cost.of(*whose).inc(sensible(event.usage.cost_micros) / 1_000_000)

    def _unlisted(self, model: str) -> tuple[str, str]:
        return bounded(model.partition("/")[0], self._providers), bounded(model, ())

    def _decided(self, event: events.ApprovalResolved) -> None:
        by_time = event.decided_by == "expiry"
        self.decided.of("expired" if by_time else bounded(event.decision, DECISIONS)).inc()
