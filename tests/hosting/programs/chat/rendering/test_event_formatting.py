"""The quiet lines between the text."""

import pytest

from sophon.events import (
    ApprovalResolved,
    BudgetAlert,
    ContextCompacted,
    GuardVerdict,
    LoopWarning,
    PlanStepChanged,
    ProviderExcluded,
    ToolCallCompleted,
)
from sophon.messages import Usage
from sophon_hosting.programs.chat.rendering.event_formatting import (
    format_budget_alert,
    format_compaction,
    format_decision,
    format_exclusion,
    format_loop_warning,
    format_plan,
    format_plan_step,
    format_tool_call,
    format_turn_footer,
)
from sophon_hosting.rendering.value_formatting import format_count, format_duration


def ended(outcome: str = "completed", result: str = "391", run_id: str = "run") -> ToolCallCompleted:
    return ToolCallCompleted(
        run_id=run_id,
        call_id="1",
        tool="calculator",
        outcome=outcome,
        duration_ms=2,
        result=result,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("event", "arguments", "line"),
    [
        (ended(), {"expression": "17 * 23"}, "✓ calculator (17 * 23) → 391 · 2 ms"),
        (ended(), {}, "✓ calculator → 391 · 2 ms"),
        (ended(result=""), {}, "✓ calculator → nothing · 2 ms"),
        (ended(run_id="run/s1"), {"a": 1, "b": [2]}, "✓ [s1] calculator (a=1, b=[2]) → 391 · 2 ms"),
        (ended("interrupted", "error: unknown"), {}, "? calculator interrupted: unknown"),
        (ended("failed", "error: no number"), {}, "✗ calculator failed: no number"),
        (ended("failed", "error: calculator failed: KeyError: 1"), {}, "✗ calculator failed: KeyError: 1"),
        (ended("denied", "denied: not now"), {}, "✗ calculator denied: not now"),
        (ended("timed_out", "error: too slow"), {}, "✗ calculator timed out: too slow"),
        (ended("cancelled", "error: cancelled"), {}, "– calculator cancelled"),
        (ended(result="\x1b[2J\nbye"), {"x": "\u202e"}, "✓ calculator (⟨U+202E⟩) → ␛[2J bye · 2 ms"),
    ],
)
def test_a_tool_has_one_line(event: ToolCallCompleted, arguments: dict[str, object], line: str) -> None:
    assert format_tool_call(event, arguments) == line


@pytest.mark.parametrize(("number", "text"), [(0, "0 messages"), (1, "1 message"), (1200, "1,200 messages")])
def test_one_is_no_plural(number: int, text: str) -> None:
    assert format_count(number, "message") == text


@pytest.mark.parametrize(
    ("status", "reason", "line"),
    [
        ("running", "", "▸ s1: look it up"),
        ("completed", "", "✓ s1 done"),
        ("failed", "no such file", "✗ s1 failed: no such file"),
        ("skipped", "s0 failed", "– s1 skipped: s0 failed"),
        ("cancelled", "", "– s1 cancelled"),
    ],
)
def test_a_step_tells_its_state_and_why(status: str, reason: str, line: str) -> None:
    event = PlanStepChanged(step_id="s1", status=status, reason=reason)  # type: ignore[arg-type]
    assert format_plan_step(event, {"s1": "look it up"}) == line


def test_a_plan_shows_goal_steps_risks_and_order() -> None:
    steps = [
        {"id": "s1", "description": "write", "estimated_risk": "medium", "depends_on": []},
        {"id": "s2", "description": "read", "estimated_risk": "low", "depends_on": ["s1"]},
    ]
    assert format_plan({"goal": "both", "steps": steps}) == [
        "Plan of 2 steps: both",
        "1. s1: write (risk medium)",
        "2. s2: read (risk low, after s1)",
    ]


def test_an_expired_question_says_so() -> None:
    event = ApprovalResolved(approval_id="a", decision="reject", decided_by="expiry", reason="nobody decided")
    assert format_decision(event) == "✗ the approval expired: nobody decided"


def test_rare_happenings_have_a_line_each() -> None:
    alert = BudgetAlert(provider="openai", name="DailyTokens", limit=1000, used=800, share=0.8)
    assert format_budget_alert(alert) == "· budget: 80% of DailyTokens used by openai (800 of 1000)"
    refused = BudgetAlert(provider="openai", name="DailyTokens", limit=1000, used=540, share=1.0, refused=True)
    assert format_budget_alert(refused) == "· budget: DailyTokens of openai refuses calls (540 of 1000)"
    excluded = ProviderExcluded(provider="openai", limit="DailyTokens", reason="the budget is spent")
    assert format_exclusion(excluded) == "· openai is not used: the budget is spent"
    compacted = ContextCompacted(how="summary", messages=40, tokens_before=9000, tokens_after=3000)
    assert "40 older messages summarised (9,000 to 3,000 tokens)" in format_compaction(compacted)
    warning = LoopWarning(level="warning", pattern="generic_repeat", tool="t", count=10, detail="10 times the same")
    assert format_loop_warning(warning) == "· loop warning: 10 times the same"
    cut = ContextCompacted(how="results", messages=1, tokens_before=9000, tokens_after=3000)
    assert format_compaction(cut) == "· context compacted: 1 tool result cut (9,000 to 3,000 tokens)"


@pytest.mark.parametrize(
    ("milliseconds", "text"), [(0, "0 ms"), (999, "999 ms"), (1400, "1.4 s"), (185_000, "3 min 5 s")]
)
def test_a_duration_is_written_as_people_say_it(milliseconds: int, text: str) -> None:
    assert format_duration(milliseconds) == text


def test_the_footer_names_model_tokens_cost_and_session() -> None:
    usage = Usage(1000, 234, 12_300)
    line = format_turn_footer("openai/gpt", usage, milliseconds=1400, session_id="main")
    assert line == "openai/gpt · 1,234 tokens · $0.0123 · 1.4 s · session main"


def test_a_blocked_call_names_the_guard_its_reason_and_the_rule() -> None:
    block = GuardVerdict(
        call_id="1",
        guard="Protection",
        verdict="block",
        rule="protected_read_only",
        reason="SOUL.md can only\nbe read",
        arguments={"path": "SOUL.md"},
    )
    line = "⊘ calculator (SOUL.md) blocked by Protection: SOUL.md can only be read (protected_read_only)"
    assert format_tool_call(ended("denied", "blocked by Protection (protected_read_only)"), {}, block) == line


def test_a_decision_elsewhere_shows_edited_arguments() -> None:
    edited = ApprovalResolved(approval_id="a", decision="edit", decided_by="ada", arguments={"to": "Ada", "amount": 7})
    assert format_decision(edited) == "· edit by ada (to=Ada, amount=7)"
