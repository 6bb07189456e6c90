"""Spans of sub-agents: below the span of the call that runs them, above those of their own attempts and calls."""

from datetime import UTC, datetime

import pytest

pytest.importorskip("opentelemetry.sdk")

from opentelemetry.sdk.resources import Resource

from sophon.traces.trace import AgentTrace, AttemptTrace, ToolTrace, Trace
from sophon.traces.trace_context import derive_span_id
from sophon_hosting.telemetry.sdk_spans import SpanBuilder

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


def test_turn_call_agent_and_its_own_calls_are_below_each_other() -> None:
    now = datetime(2026, 11, 23, tzinfo=UTC)
    agent, inner = "agent-a-1", "agent-a-1/agent-b-2"
    trace = Trace(
        run_id="r",
        session_id="s",
        principal="ada",
        channel="",
        started_at=now,
        ended_at=now,
        status="completed",
        trace_id=TRACE,
        span_id=SPAN,
        agents=(
            AgentTrace(agent, "a", "completed", 0, call_id="same"),
            AgentTrace(inner, "b", "failed", 0, call_id="same", step=agent),
        ),
        tools=(
            ToolTrace("same", "agents.run", "completed", 0),
            ToolTrace("same", "agents.run", "completed", 0, step=agent),
            ToolTrace("same", "look", "completed", 0, step=inner),
        ),
        attempts=(AttemptTrace("p/m", "reply", "ok", 0, 1, step=inner),),
    )
    spans = SpanBuilder(Resource({}), {}).build(trace)
    ids = {f"{each.context.span_id:016x}": each.name for each in spans if each.context is not None}
    parents = [(each.name, "" if each.parent is None else ids[f"{each.parent.span_id:016x}"]) for each in spans]
    assert parents == [
        ("invoke_agent sophon", ""),
        ("invoke_agent a", "execute_tool agents.run"),
        ("invoke_agent b", "execute_tool agents.run"),
        ("chat m", "invoke_agent b"),
        ("execute_tool agents.run", "invoke_agent sophon"),
        ("execute_tool agents.run", "invoke_agent a"),
        ("execute_tool look", "invoke_agent b"),
    ]
    assert len(ids) == len(spans)
    assert [each.name for each in spans if not each.status.is_ok and not each.status.is_unset] == ["invoke_agent b"]
    assert derive_span_id("r", "same") in ids
