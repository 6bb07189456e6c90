from pathlib import Path
from typing import get_args

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from sophon import events
from sophon.messages import FinishReason, Outcome, Usage
from sophon.models.model import Purpose
from sophon_hosting.observing.metrics import DECISIONS, ERROR_CODES, Metrics
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
    assert found["sophon_model_attempts_total", "model=openai/gpt", "outcome=ok", "purpose=reply"] == 1
    assert found["sophon_model_tokens_total", "direction=output", "model=openai/gpt"] == 5
    assert found["sophon_model_cost_usd_total", "model=openai/gpt"] == 2
    assert found["sophon_approvals_resolved_total", "decision=expired"] == 1
    assert found["sophon_tasks_ended_total", "reason=stop", "status=completed"] == 1
    assert found["sophon_turn_duration_seconds_sum",] == 1.5
    assert (found["sophon_queue_waiting",], found["sophon_hub_clients",]) == (3, 4)


def test_two_hosts_in_one_process_count_apart() -> None:
    one, other = Metrics(), Metrics()
    one.emit(events.TaskQueued())
    assert read(one)["sophon_tasks_queued_total",] == 1
    assert read(other)["sophon_tasks_queued_total",] == 0


NAMES = st.text(max_size=8)
KNOWN = {
    "tool": {"pay"},
    "model": {"openai/gpt"},
    "purpose": set(get_args(Purpose)),
    "outcome": {*ERROR_CODES, *get_args(Outcome)},
    "decision": {*DECISIONS, "expired"},
    "reason": {*ERROR_CODES, *get_args(FinishReason)},
}


@given(
    st.lists(
        st.one_of(
            st.builds(events.ToolCallCompleted, call_id=NAMES, tool=NAMES, outcome=NAMES),
            st.builds(events.ModelAttempt, purpose=NAMES, model=NAMES, outcome=NAMES, duration_ms=st.just(1)),
            st.builds(events.ApprovalResolved, approval_id=NAMES, decision=NAMES, decided_by=NAMES),
            st.builds(events.TaskFailed, error=st.fixed_dictionaries({"code": NAMES})),
        ),
        max_size=40,
    )
)
def test_whatever_is_named_there_is_only_so_much_to_count(heard: list[events.Event]) -> None:
    metrics = Metrics(tools=["pay"], models=["openai/gpt"])
    for event in heard:
        metrics.emit(event)
    for _, *labels in read(metrics):
        for label in labels:
            key, _, value = label.partition("=")
            assert key not in KNOWN or value in KNOWN[key] | {"other"}


def test_every_metric_is_on_its_page() -> None:
    page = (Path(__file__).parents[3] / "docs" / "metrics.md").read_text()
    metrics = Metrics()
    own = {each.name for each in metrics.registry.collect() if each.name.startswith("sophon_")}
    listed = {line.split("`")[1] for line in page.splitlines() if line.startswith("| `sophon_")}
    assert {name.removesuffix("_total") for name in listed} == own


def test_an_event_that_nothing_counts_changes_nothing() -> None:
    metrics = Metrics()
    before = {name: value for name, value in read(metrics).items() if name[0].startswith("sophon")}
    metrics.emit(events.AgentStatus(status="thinking"))
    after = {name: value for name, value in read(metrics).items() if name[0].startswith("sophon")}
    assert before == after
