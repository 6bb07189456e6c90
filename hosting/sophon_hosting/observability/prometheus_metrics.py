"""Prometheus metrics of a host; docs/metrics.md has the table.

Labels are bounded: names that clients or models choose freely become `other`, and no label holds an id.
"""

import math
from collections import Counter as Counted
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar, get_args

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

from sophon import attachment_inspection as attachment_inspection
from sophon import events
from sophon._version import __version__
from sophon.errors import SophonError
from sophon.messages import FinishReason, ToolCallOutcome
from sophon.models.model import Purpose
from sophon.plans.plan import PlanError as PlanError
from sophon.settings.sections.permissions import LevelNeeded as LevelNeeded
from sophon.stores.attachments.stored_attachment import TooManyBytes as TooManyBytes
from sophon.stores.health import REASONS, StoreHealth
from sophon.stores.maintenance import StoreSpace
from sophon.stores.run_fence import StaleRun as StaleRun
from sophon.tools.http import ssrf_guard as ssrf_guard
from sophon_channels import errors as errors
from sophon_hosting.queue.contract import QueueStatistics
from sophon_hosting.queue.errors import QueueFull as QueueFull

TURN_BUCKETS_SECONDS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800)

TOOL_BUCKETS_SECONDS = (0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 120)

CODES_WITHOUT_CLASS = frozenset({"cancelled", "gave_up", "internal", "interrupted", "ok", "timeout"})
"""Codes of runs that a worker terminates, of foreign exceptions, and of successful attempts."""

DECISIONS = frozenset({"approve", "edit", "reject"})

FINISH_REASONS = frozenset[str](get_args(FinishReason))

OUTCOMES = frozenset[str](get_args(ToolCallOutcome))

PURPOSES = frozenset[str](get_args(Purpose))

LOOP_WARNING_LEVELS = frozenset({"warning", "critical", "breaker"})

UNDELIVERED_REASONS = frozenset({"expired", "ambiguous", "chat_gone", "window_closed", "recipient_changed", "rejected"})

COMPACTION_METHODS = frozenset({"summary", "truncation", "results"})

REFUSAL_REASONS = frozenset({"total", "address", "replaced", "files"})

QUEUE_GAUGE_TEXTS: Mapping[str, str] = {
    "waiting": "Waiting tasks.",
    "in_flight": "Running tasks.",
    "held_lanes": "Sessions with a suspended turn.",
    "dead": "Dead letters.",
    "capacity": "Maximum number of waiting tasks.",
    "paused": "1 while the queue is paused.",
    "oldest_waiting_seconds": "Waiting time of the oldest waiting task.",
}

OTHER_LABEL = "other"
"""Label value for all names that are not allowed."""

MAX_VALUE = 10**15
"""Maximum of a plausible number (ms, tokens, micro-USD), below the precision limit of a float counter (2**53)."""

MetricT = TypeVar("MetricT", Counter, Histogram)


def list_error_codes() -> frozenset[str]:
    """Return all error codes of the classes loaded so far, including those of user tools and middlewares.

    Codes that are set only on instances are not included, so the number is bounded by the number of classes.
    """
    return CODES_WITHOUT_CLASS | {error_class.code for error_class in _subclass_tree(SophonError)}


def _subclass_tree(root: type[SophonError]) -> Iterator[type[SophonError]]:
    yield root
    for subclass in root.__subclasses__():
        yield from _subclass_tree(subclass)


class Metrics:
    """Event sink that counts the events of a host.

    The names in `tools` and `models` (`provider/name`) and the providers of these models are allowed as labels.
    """

    def __init__(self, tools: Collection[str] = (), models: Collection[str] = ()) -> None:
        self.registry = CollectorRegistry()
        self._tools = frozenset(tools)
        self.allow_models(models)
        self._codes = list_error_codes()
        self._create_task_metrics()
        self._create_call_metrics()
        self._create_incident_metrics()
        self._create_gauges()
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=self.registry)
        self._handlers = self._build_handlers()

    def allow_models(self, models: Collection[str]) -> None:
        """Allow these models as labels, and no others."""
        self._models = {model: (model.partition("/")[0], model) for model in models}
        self._providers = frozenset(provider for provider, _ in self._models.values())

    def emit(self, event: events.Event, /) -> None:
        """Count an event; an implausible number in it counts as 0."""
        handler = self._handlers.get(type(event))
        if handler is not None:
            handler(event)

    def count_refused_connection(self, reason: str) -> None:
        """Count a connection that was refused, or closed to admit another."""
        self.connections_refused.labels(restrict_label(reason, REFUSAL_REASONS)).inc()

    def record_store(self, health: StoreHealth, space: StoreSpace | None) -> None:
        """Set the gauges of the store; space that is not known is NaN."""
        self.store_available_gauge.set(health.is_available)
        self.store_bytes_gauge.set(math.nan if space is None else space.used_bytes)
        free = space.free_bytes if space is not None else None
        self.store_free_bytes_gauge.set(math.nan if free is None else free)
        for kind, gauge in self.store_failures.items():
            gauge.inc(health.failures[kind] - self._counted_failures[kind])
            self._counted_failures[kind] = health.failures[kind]

    def record_group(self, processes: int, duties: Sequence[str]) -> None:
        """Set the gauges of the group: its live processes, and what this one leads now."""
        self.processes_gauge.set(processes)
        for duty in self._duties - set(duties):
            self.leading_gauge.labels(duty).set(0)
        for duty in duties:
            self.leading_gauge.labels(duty).set(1)
        self._duties |= set(duties)

    def render(
        self, statistics: QueueStatistics | None, clients: int = 0, connections: int = 0, undelivered: int | None = 0
    ) -> bytes:
        """Return the metrics in the Prometheus text format.

        `undelivered` counts the dead letters of the channels. What is None, because it is not known, is NaN.
        """
        self.queue_available_gauge.set(statistics is not None)
        for name, gauge in self.queue_gauges.items():
            gauge.set(math.nan if statistics is None else getattr(statistics, name))
        self.client_gauge.set(clients)
        self.connection_gauge.set(connections)
        self.undelivered_gauge.set(math.nan if undelivered is None else undelivered)
        return generate_latest(self.registry)

    def _build_handlers(self) -> Mapping[type[events.Event], Callable[[Any], None]]:
        return {
            events.TaskQueued: lambda _: self.tasks_queued.inc(),
            events.TaskStarted: lambda _: self.tasks_started.inc(),
            events.TaskCompleted: lambda event: self._count_end(
                "completed", restrict_label(event.finish_reason, FINISH_REASONS), event.duration_ms
            ),
            events.TaskFailed: lambda event: self._count_end(
                "failed", restrict_label(event.error.get("code"), self._codes), event.duration_ms
            ),
            events.TaskCancelled: lambda event: self._count_end("cancelled", "cancelled", event.duration_ms),
            events.ToolCallCompleted: self._count_tool_call,
            events.ModelAttempt: self._count_attempt,
            events.ApprovalRequested: lambda _: self.approvals_requested.inc(),
            events.ApprovalResolved: self._count_decision,
            events.BudgetAlert: lambda event: self.budget_alerts.labels(
                restrict_label(event.provider, self._providers)
            ).inc(),
            events.LoopWarning: lambda event: self.loop_warnings.labels(
                restrict_label(event.level, LOOP_WARNING_LEVELS)
            ).inc(),
            events.AnswerUndelivered: lambda event: self.answers_undelivered.labels(
                restrict_label(event.reason, UNDELIVERED_REASONS)
            ).inc(),
            events.ContextCompacted: lambda event: self.compactions.labels(
                restrict_label(event.how, COMPACTION_METHODS)
            ).inc(),
        }

    def _create_task_metrics(self) -> None:
        self.tasks_queued = self._counter("sophon_tasks_queued", "Accepted messages.")
        self.tasks_started = self._counter("sophon_tasks_started", "Started turns.")
        self.tasks_ended = LabeledMetric(
            self._counter("sophon_tasks_ended", "Tasks with an outcome.", "status", "reason")
        )
        self.turn_seconds = self._histogram("sophon_turn_duration_seconds", "Run time of turns.", TURN_BUCKETS_SECONDS)

    def _create_call_metrics(self) -> None:
        model_labels = ("provider", "model")
        self.tool_calls = LabeledMetric(self._counter("sophon_tool_calls", "Finished tool calls.", "tool", "outcome"))
        self.tool_seconds = LabeledMetric(
            self._histogram("sophon_tool_duration_seconds", "Run time of tools.", TOOL_BUCKETS_SECONDS, "tool")
        )
        self.model_attempts = LabeledMetric(
            self._counter("sophon_model_attempts", "Attempts of model calls.", *model_labels, "purpose", "outcome")
        )
        self.model_seconds = LabeledMetric(
            self._histogram(
                "sophon_model_duration_seconds", "Duration of model attempts.", TURN_BUCKETS_SECONDS, *model_labels
            )
        )
        self.model_tokens = LabeledMetric(self._counter("sophon_model_tokens", "Tokens.", *model_labels, "direction"))
        self.model_cost = LabeledMetric(self._counter("sophon_model_cost_usd", "Cost in US dollars.", *model_labels))

    def _create_incident_metrics(self) -> None:
        self.approvals_requested = self._counter("sophon_approvals_requested", "Approval requests.")
        self.approvals_resolved = LabeledMetric(
            self._counter("sophon_approvals_resolved", "Approval decisions and expiries.", "decision")
        )
        self.budget_alerts = LabeledMetric(self._counter("sophon_budget_alerts", "Budget alerts.", "provider"))
        self.loop_warnings = LabeledMetric(
            self._counter("sophon_loop_warnings", "Warnings of the loop detector.", "level")
        )
        self.connections_refused = LabeledMetric(
            self._counter("sophon_connections_refused", "Refused and replaced connections.", "reason")
        )
        self.auth_failures = self._counter("sophon_auth_failures", "Failed log-ins.")
        self.answers_undelivered = LabeledMetric(
            self._counter("sophon_answers_undelivered", "Answers that were not delivered to their chat.", "reason")
        )
        self.compactions = LabeledMetric(self._counter("sophon_compactions", "Context compactions.", "how"))

    def _create_gauges(self) -> None:
        self.queue_gauges = {
            name: Gauge(f"sophon_queue_{name}", text, registry=self.registry)
            for name, text in QUEUE_GAUGE_TEXTS.items()
        }
        self.queue_available_gauge = Gauge(
            "sophon_queue_available", "1 while the server of the queue can be reached.", registry=self.registry
        )
        self.undelivered_gauge = Gauge(
            "sophon_outbox_dead", "Messages to chats that could not be delivered.", registry=self.registry
        )
        self.client_gauge = Gauge("sophon_hub_clients", "Connected clients.", registry=self.registry)
        self.connection_gauge = Gauge("sophon_connections", "Open HTTP connections.", registry=self.registry)
        self.processes_gauge = Gauge("sophon_processes", "Live processes of the group.", registry=self.registry)
        self.leading_gauge = Gauge("sophon_leading", "1 for what this process leads.", ["duty"], registry=self.registry)
        self._duties: set[str] = set()
        self.store_available_gauge = Gauge(
            "sophon_store_available", "1 while messages are accepted and turns start.", registry=self.registry
        )
        self.store_bytes_gauge = Gauge("sophon_store_bytes", "Size of the store.", registry=self.registry)
        self.store_free_bytes_gauge = Gauge(
            "sophon_store_free_bytes", "Free space on the disk of the store.", registry=self.registry
        )
        failures = self._counter("sophon_store_failures", "Operations that the store failed.", "kind")
        self.store_failures = {kind: failures.labels(kind) for kind in REASONS}
        self._counted_failures = Counted[str]()
        Gauge("sophon_build_info", "1; the version is a label.", ["version"], registry=self.registry).labels(
            __version__
        ).set(1)

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(name, text, labels, registry=self.registry)

    def _histogram(self, name: str, text: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
        return Histogram(name, text, labels, registry=self.registry, buckets=buckets)

    def _count_end(self, status: str, reason: str, duration_ms: int) -> None:
        self.tasks_ended.labels(status, reason).inc()
        self.turn_seconds.observe(sanitize_number(duration_ms) / 1000)

    def _count_tool_call(self, event: events.ToolCallCompleted) -> None:
        tool = restrict_label(event.tool, self._tools)
        self.tool_calls.labels(tool, restrict_label(event.outcome, OUTCOMES)).inc()
        self.tool_seconds.labels(tool).observe(sanitize_number(event.duration_ms) / 1000)

    def _count_attempt(self, event: events.ModelAttempt) -> None:
        model_labels = self._models.get(event.model) or self._unlisted_labels(event.model)
        self.model_attempts.labels(
            *model_labels, restrict_label(event.purpose, PURPOSES), restrict_label(event.outcome, self._codes)
        ).inc()
        self.model_seconds.labels(*model_labels).observe(sanitize_number(event.duration_ms) / 1000)
        self.model_tokens.labels(*model_labels, "input").inc(sanitize_number(event.usage.input_tokens))
        self.model_tokens.labels(*model_labels, "output").inc(sanitize_number(event.usage.output_tokens))
        self.model_cost.labels(*model_labels).inc(sanitize_number(event.usage.cost_micros) / 1_000_000)

    def _unlisted_labels(self, model: str) -> tuple[str, str]:
        return restrict_label(model.partition("/")[0], self._providers), restrict_label(model, ())

    def _count_decision(self, event: events.ApprovalResolved) -> None:
        is_expired = event.decided_by == "expiry"
        self.approvals_resolved.labels("expired" if is_expired else restrict_label(event.decision, DECISIONS)).inc()


def restrict_label(name: object, allowed: Collection[str]) -> str:
    """Return the name if it is allowed, else `other`."""
    return name if isinstance(name, str) and name in allowed else OTHER_LABEL


def sanitize_number(number: object) -> float:
    """Return the number, or 0 for a negative, implausibly large or non-numeric value.

    Models may report anything, and a wrong value would stay in a counter forever.
    """
    return number if isinstance(number, int | float) and 0 <= number <= MAX_VALUE else 0


class LabeledMetric(Generic[MetricT]):
    """Metric with cached children by label values; looking one up costs more than counting.

    Only bounded labels may be used, because children are never removed.
    """

    __slots__ = ("_children", "_metric")

    def __init__(self, metric: MetricT) -> None:
        self._metric: MetricT = metric
        self._children: dict[tuple[str, ...], MetricT] = {}

    def labels(self, *labels: str) -> MetricT:
        """Return the child with these label values, in the order of the metric's label names."""
        child = self._children.get(labels)
        if child is None:
            child = self._children[labels] = self._metric.labels(*labels)
        return child
