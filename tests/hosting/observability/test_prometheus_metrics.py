import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from sophon import events
from sophon.errors import ChainError, SophonError
from sophon.messages import FinishReason, ToolCallOutcome, Usage
from sophon.models.model import Purpose
from sophon.stores.health import REASONS
from sophon_hosting.observability.prometheus_metrics import DECISIONS, OTHER_LABEL, Metrics, list_error_codes
from sophon_hosting.queue.contract import QueueStatistics

IDLE = QueueStatistics(
    waiting=3, reserved=0, in_flight=2, held_lanes=1, dead=0, capacity=100, paused=False, delivered_total=9,
    oldest_waiting_seconds=1.5,
)  # fmt: skip


def read(metrics: Metrics, clients: int = 0) -> dict[tuple[str, ...], float]:
    """Every sample by its name and labels."""
    text = metrics.render(IDLE, clients).decode()
    return {
        (sample.name, *(f"{key}={value}" for key, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_each_event_is_counted_once() -> None:
    metrics = Metrics(tools=["pay"], models=["openai/gpt"])
    for event in (
        events.TaskQueued(),
        events.TaskStarted(),
        events.ToolCallCompleted(call_id="c", tool="pay", outcome="denied", duration_ms=500),
        events.ModelAttempt(
            purpose="reply", model="openai/gpt", outcome="ok", duration_ms=2000,
            usage=Usage(input_tokens=10, output_tokens=5, cost_micros=2_000_000),
        ),
        events.ApprovalRequested(approval_id="a", kind="tool", tool="pay", risk="High", arguments={}, preview=""),
        events.ApprovalResolved(approval_id="a", decision="reject", decided_by="expiry"),
        events.TaskCompleted(text="", finish_reason="stop", usage=Usage(), duration_ms=1500),
    ):  # fmt: skip
        metrics.emit(event)
    found = read(metrics, clients=4)
    assert found["sophon_tasks_queued_total",] == 1
    assert found["sophon_tasks_started_total",] == 1
    assert found["sophon_tool_calls_total", "outcome=denied", "tool=pay"] == 1
    assert (
        found["sophon_model_attempts_total", "model=openai/gpt", "outcome=ok", "provider=openai", "purpose=reply"] == 1
    )
    assert found["sophon_model_tokens_total", "direction=output", "model=openai/gpt", "provider=openai"] == 5
    assert found["sophon_model_cost_usd_total", "model=openai/gpt", "provider=openai"] == 2
    assert found["sophon_approvals_resolved_total", "decision=expired"] == 1
    assert found["sophon_tasks_ended_total", "reason=stop", "status=completed"] == 1
    assert found["sophon_turn_duration_seconds_sum",] == 1.5
    assert (found["sophon_queue_waiting",], found["sophon_hub_clients",]) == (3, 4)


def test_two_hosts_in_one_process_count_apart() -> None:
    one, other = Metrics(), Metrics()
    one.emit(events.TaskQueued())
    assert read(one)["sophon_tasks_queued_total",] == 1
    assert read(other)["sophon_tasks_queued_total",] == 0


ONE_OF_EACH: list[events.Event] = [
    events.TaskCompleted(text="", finish_reason="stop", usage=Usage(), duration_ms=1),
    events.ToolCallCompleted(call_id="c", tool="pay", outcome="completed"),
    events.ModelAttempt(purpose="reply", model="openai/gpt", outcome="ok", duration_ms=1),
    events.ApprovalResolved(approval_id="a", decision="approve"),
    events.BudgetAlert(provider="openai", name="DailyTokens", limit=1, used=1, share=1),
    events.LoopWarning(level="warning", pattern="generic_repeat", tool="pay", count=3),
    events.ContextCompacted(how="summary", messages=2, tokens_before=9, tokens_after=1),
    events.AnswerUndelivered(channel="telegram", reason="expired", parts=1, may_have_arrived=False),
]
"""All that has labels."""

TOOLS, MODELS = ["pay"], ["openai/gpt", "ollama/llama"]
LABELS = {
    "kind": set(REASONS),
    "tool": {"pay"},
    "provider": {"openai", "ollama"},
    "model": set(MODELS),
    "purpose": set(get_args(Purpose)),
    "decision": {*DECISIONS, "expired"},
    "direction": {"input", "output"},
    "status": {"completed", "failed", "cancelled"},
    "level": {"warning", "critical", "breaker"},
    "how": {"summary", "truncation"},
    "reason": {*list_error_codes(), *get_args(FinishReason)},
    "outcome": {*list_error_codes(), *get_args(ToolCallOutcome)},
}
"""What each label may say besides `other`."""

KNOWN_NAMES = sorted({name for names in LABELS.values() for name in names})
NAMES = st.text(max_size=8) | st.sampled_from([*KNOWN_NAMES, "openai/another", "/", "expiry"])
NUMBERS = st.integers() | st.integers(-5, 10**9) | st.floats()
USAGE = st.builds(Usage, NUMBERS, NUMBERS, NUMBERS)
EVENTS = st.one_of(
    st.builds(events.TaskCompleted, text=NAMES, finish_reason=NAMES, usage=USAGE, duration_ms=NUMBERS),
    st.builds(events.TaskFailed, error=st.dictionaries(st.just("code"), NAMES), duration_ms=NUMBERS),
    st.builds(events.TaskCancelled, session_id=NAMES, task_id=NAMES),
    st.builds(events.ToolCallCompleted, call_id=NAMES, tool=NAMES, outcome=NAMES, duration_ms=NUMBERS),
    st.builds(events.ModelAttempt, purpose=NAMES, model=NAMES, outcome=NAMES, duration_ms=NUMBERS, usage=USAGE),
    st.builds(events.ApprovalResolved, approval_id=NAMES, decision=NAMES, decided_by=NAMES),
    st.builds(
        events.BudgetAlert, provider=NAMES, name=NAMES, limit=st.just(1.0), used=st.just(1.0), share=st.just(0.8)
    ),
    st.builds(events.LoopWarning, level=NAMES, pattern=NAMES, tool=NAMES, count=st.just(3)),
    st.builds(events.ContextCompacted, how=NAMES, messages=NUMBERS, tokens_before=NUMBERS, tokens_after=NUMBERS),
)


@given(st.lists(EVENTS, max_size=60))
def test_whatever_is_named_there_is_only_so_much_to_count(heard: list[events.Event]) -> None:
    metrics = Metrics(TOOLS, MODELS)
    for event in heard:
        metrics.emit(event)
    for family in metrics.registry.collect():
        if not family.name.startswith("sophon_") or family.name == "sophon_build_info":
            continue
        for sample in family.samples:
            said = {label: value for label, value in sample.labels.items() if label != "le"}
            assert all(value in LABELS[label] | {OTHER_LABEL} for label, value in said.items())


STRANGE = st.text(min_size=1, max_size=8).map(lambda name: f"?{name}")
"""Names that nobody has configured."""


def strangers(name: str) -> list[events.Event]:
    """All that has labels, with a name of its own wherever one can be given."""
    odd: Any = name
    return [
        events.TaskCompleted(session_id=name, text="", finish_reason=odd, usage=Usage(), duration_ms=1),
        events.TaskFailed(task_id=name, error={"code": name}),
        events.ToolCallCompleted(call_id=name, tool=name, outcome=odd),
        events.ModelAttempt(purpose=name, model=f"{name}/{name}", outcome=name, duration_ms=1),
        events.ApprovalResolved(approval_id=name, decision=name, decided_by=name),
        events.BudgetAlert(provider=name, name=name, limit=1, used=1, share=1),
        events.LoopWarning(level=name, pattern=name, tool=name, count=3),
        events.ContextCompacted(how=odd, messages=2, tokens_before=9, tokens_after=1),
    ]


@given(STRANGE, st.lists(STRANGE, max_size=20))
def test_no_number_of_strange_names_makes_a_series_more_than_one_of_them(first: str, more: list[str]) -> None:
    metrics = Metrics(TOOLS, MODELS)
    for event in strangers(first):
        metrics.emit(event)
    series = set(read(metrics))
    for event in (event for name in more for event in strangers(name)):
        metrics.emit(event)
    assert set(read(metrics)) == series


def test_a_model_that_the_settings_do_not_name_still_counts_for_its_provider() -> None:
    metrics = Metrics(TOOLS, MODELS)
    metrics.emit(events.ModelAttempt(purpose="reply", model="openai/new", outcome="cancelled", duration_ms=1))
    metrics.emit(events.ModelAttempt(purpose="reply", model="who/what", outcome="ok", duration_ms=1))
    found = read(metrics)
    assert found["sophon_model_attempts_total", "model=other", "outcome=cancelled", "provider=openai", "purpose=reply"]
    assert found["sophon_model_attempts_total", "model=other", "outcome=ok", "provider=other", "purpose=reply"]


@pytest.mark.parametrize(
    "number",
    [-1, -0.5, 10**16, 10**400, math.inf, -math.inf, math.nan, None, "7"],
    ids=lambda number: repr(number)[:20],
)
def test_a_number_that_makes_no_sense_counts_nothing_and_stops_no_counting(number: Any) -> None:
    metrics = Metrics(TOOLS, MODELS)
    usage = Usage(input_tokens=number, output_tokens=7, cost_micros=number)
    metrics.emit(
        events.ModelAttempt(purpose="reply", model="openai/gpt", outcome="ok", duration_ms=number, usage=usage)
    )
    metrics.emit(events.ToolCallCompleted(call_id="c", tool="pay", outcome="completed", duration_ms=number))
    metrics.emit(events.TaskCancelled(duration_ms=number))
    found = read(metrics)
    whose = ("model=openai/gpt", "provider=openai")
    assert found["sophon_model_tokens_total", "direction=input", *whose] == 0
    assert found["sophon_model_tokens_total", "direction=output", *whose] == 7
    assert found["sophon_model_cost_usd_total", *whose] == 0
    assert found["sophon_model_duration_seconds_sum", *whose] == 0
    assert found["sophon_tool_duration_seconds_sum", "tool=pay"] == 0
    assert (found["sophon_turn_duration_seconds_sum",], found["sophon_turn_duration_seconds_count",]) == (0, 1)


def test_a_name_that_is_none_is_other() -> None:
    metrics = Metrics(TOOLS, MODELS)
    nameless: Any = ["stop"]
    metrics.emit(events.TaskCompleted(text="", finish_reason=nameless, usage=Usage(), duration_ms=1))
    assert read(metrics)["sophon_tasks_ended_total", "reason=other", "status=completed"] == 1


@pytest.mark.parametrize(
    ("event", "sample"),
    [
        (
            events.BudgetAlert(provider="openai", name="DailyTokens", limit=1, used=1, share=1),
            ("sophon_budget_alerts_total", "provider=openai"),
        ),
        (
            events.LoopWarning(level="breaker", pattern="generic_repeat", tool="pay", count=9),
            ("sophon_loop_warnings_total", "level=breaker"),
        ),
        (
            events.ContextCompacted(how="summary", messages=9, tokens_before=9, tokens_after=1),
            ("sophon_compactions_total", "how=summary"),
        ),
        (
            events.ApprovalResolved(approval_id="a", decision="approve"),
            ("sophon_approvals_resolved_total", "decision=approve"),
        ),
        (events.TaskCancelled(), ("sophon_tasks_ended_total", "reason=cancelled", "status=cancelled")),
        (
            events.TaskFailed(error={"code": "state"}),
            ("sophon_tasks_ended_total", "reason=state", "status=failed"),
        ),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, events.Event) else value[0],
)
def test_each_kind_of_incident_is_told_apart(event: events.Event, sample: tuple[str, ...]) -> None:
    metrics = Metrics(TOOLS, MODELS)
    metrics.emit(event)
    assert read(metrics)[sample] == 1


class Unpaid(ChainError):
    """Of somebody who writes a middleware."""

    code = "unpaid"


def tree(root: type[SophonError]) -> list[type[SophonError]]:
    return [root, *(below for each in root.__subclasses__() for below in tree(each))]


def test_every_code_has_its_label() -> None:
    codes = {each.code for each in tree(SophonError)}
    assert {"ssrf_blocked", "rate_limited", "unpaid", "error"} <= codes
    metrics = Metrics(TOOLS, MODELS)
    for code in (*codes, "timeout", "interrupted", "gave_up", "internal", "ok", "cancelled"):
        metrics.emit(events.TaskFailed(error={"code": code}))
        metrics.emit(events.ModelAttempt(purpose="reply", model="openai/gpt", outcome=code, duration_ms=1))
        found = read(metrics)
        whose = ("model=openai/gpt", f"outcome={code}", "provider=openai", "purpose=reply")
        assert found["sophon_tasks_ended_total", f"reason={code}", "status=failed"] == 1
        assert found["sophon_model_attempts_total", *whose] == 1


def test_the_process_is_measured_too() -> None:
    names = {name[0] for name in read(Metrics())}
    assert {"process_resident_memory_bytes", "python_info", "python_gc_collections_total"} <= names


def row(line: str) -> tuple[str, frozenset[str]]:
    """The metric and the labels of a line of the table."""
    name, labels = line.split("|")[1:3]
    return name.strip(" `").removesuffix("_total"), frozenset(re.findall(r"`(\w+)`", labels))


def test_every_metric_is_on_its_page_with_its_labels() -> None:
    page = (Path(__file__).parents[3] / "docs" / "metrics.md").read_text()
    listed = {row(line) for line in page.splitlines() if line.startswith("| `sophon_")}
    metrics = Metrics(TOOLS, MODELS)
    for event in ONE_OF_EACH:
        metrics.emit(event)
    metrics.count_refused_connection("total")
    metrics.record_group(1, ["schedules"])
    own = {
        (family.name, frozenset(label for sample in family.samples for label in sample.labels if label != "le"))
        for family in metrics.registry.collect()
        if family.name.startswith("sophon_")
    }
    assert listed == own


def test_an_event_that_nothing_counts_changes_nothing() -> None:
    metrics = Metrics()
    before = {name: value for name, value in read(metrics).items() if name[0].startswith("sophon")}
    metrics.emit(events.AgentStatus(status="thinking"))
    after = {name: value for name, value in read(metrics).items() if name[0].startswith("sophon")}
    assert before == after


LIST_AGAIN = """
import importlib, pkgutil
from sophon_hosting.observability.prometheus_metrics import list_error_codes
before = list_error_codes()
for name in ("sophon", "sophon_middlewares", "sophon_channels"):
    for module in pkgutil.walk_packages(importlib.import_module(name).__path__, name + "."):
        if ".sql.migrations." not in module.name:
            importlib.import_module(module.name)
print(*(list_error_codes() - before))
"""


def test_the_codes_do_not_depend_on_what_was_imported_before() -> None:
    found = subprocess.run([sys.executable, "-c", LIST_AGAIN], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == ""


def test_what_a_process_no_longer_leads_is_zero() -> None:
    metrics = Metrics()
    metrics.record_group(3, ["goals", "schedules"])
    metrics.record_group(2, ["goals"])
    found = read(metrics)
    assert found["sophon_processes",] == 2
    assert [found["sophon_leading", f"duty={duty}"] for duty in ("goals", "schedules")] == [1, 0]
