"""Formatting of turn events as short lines of text: tool calls, plans, approvals, compaction, budget, progress."""

from collections.abc import Mapping, Sequence
from typing import Any

from sophon.events import (
    ApprovalResolved,
    BudgetAlert,
    ContextCompacted,
    LoopWarning,
    PlanStepChanged,
    Progress,
    ToolCallCompleted,
)
from sophon.messages import Usage, canonical_json
from sophon.tools.fencing import unfence
from sophon_hosting.cli.visible import on_one_line
from sophon_middlewares.inner.approval import EXPIRY

ARGUMENTS_WIDTH = 40
RESULT_WIDTH = 60
REASON_WIDTH = 200
STEP_WIDTH = 60

OUTCOMES = {"completed": "✓", "denied": "✗", "failed": "✗", "timed_out": "✗", "cancelled": "–", "discarded": "–"}
STEPS = {"running": "▸", "completed": "✓", "failed": "✗", "skipped": "–", "cancelled": "–", "pending": "·"}


def tool_line(event: ToolCallCompleted, arguments: Mapping[str, Any]) -> str:
    """Format a finished tool call: `✓ calculator (17 * 23) → 391 · 2 ms`; otherwise its outcome and the reason."""
    head = f"{OUTCOMES[event.outcome]} {step_of(event.run_id)}{on_one_line(event.tool, ARGUMENTS_WIDTH)}"
    if arguments:
        head += f" ({arguments_text(arguments)})"
    if event.outcome == "completed":
        result = on_one_line(unfence(event.result), RESULT_WIDTH)
        return f"{head} → {result or 'nothing'} · {duration(event.duration_ms)}"
    outcome = event.outcome.replace("_", " ")
    detail = event.result.removeprefix("error: ").removeprefix("denied: ").removeprefix(f"{event.tool} {outcome}: ")
    reason = on_one_line(detail, REASON_WIDTH)
    return f"{head} {outcome}" if reason in ("", outcome) else f"{head} {outcome}: {reason}"


def arguments_text(arguments: Mapping[str, Any]) -> str:
    """Format tool arguments: the value of a single one, `name=value` of several; cut to `ARGUMENTS_WIDTH`."""
    values = {name: _value_text(value) for name, value in arguments.items()}
    text = ", ".join(values.values() if len(values) == 1 else (f"{name}={value}" for name, value in values.items()))
    return on_one_line(text, ARGUMENTS_WIDTH)


def plan_lines(plan: Mapping[str, Any]) -> list[str]:
    """Format a plan: the goal, and one line per step, `1. s1: description (risk medium, after s0)`."""
    steps: Sequence[Mapping[str, Any]] = plan.get("steps", ())
    head = f"Plan of {len(steps)} steps: {on_one_line(str(plan.get('goal', '')), REASON_WIDTH)}"
    return [head, *(f"{number}. {_plan_step_text(step)}" for number, step in enumerate(steps, start=1))]


def step_line(event: PlanStepChanged, descriptions: Mapping[str, str]) -> str:
    """Format the new status of a plan step: `▸ s1: description`, `✓ s1 done`, `✗ s1 failed: reason`."""
    head = f"{STEPS[event.status]} {step_of(event.run_id)}{on_one_line(event.step_id, STEP_WIDTH)}"
    if event.status == "running":
        return f"{head}: {on_one_line(descriptions.get(event.step_id, ''), STEP_WIDTH)}"
    if event.status == "completed":
        return f"{head} done"
    reason = on_one_line(event.reason, REASON_WIDTH)
    return f"{head} {event.status}{': ' if reason else ''}{reason}"


def decision_line(event: ApprovalResolved) -> str:
    """Format an approval that was not decided at this terminal, but elsewhere or by expiry."""
    if event.decided_by == EXPIRY:
        return f"✗ the approval expired: {on_one_line(event.reason, REASON_WIDTH)}"
    who = f" by {event.decided_by}" if event.decided_by else ""
    return on_one_line(f"· {event.decision}{who}{': ' if event.reason else ''}{event.reason}", REASON_WIDTH)


def compaction_line(event: ContextCompacted) -> str:
    """Format a compaction: how many messages were summarised or left out, and the tokens before and after."""
    how = "summarised" if event.how == "summary" else "left out"
    size = f"{event.tokens_before:,} to {event.tokens_after:,} tokens"
    return f"· context compacted: {counted(event.messages, 'older message')} {how} ({size})"


def loop_line(event: LoopWarning) -> str:
    """Format a loop warning."""
    return f"· loop {event.level}: {on_one_line(event.detail or event.pattern, REASON_WIDTH)}"


def budget_line(event: BudgetAlert) -> str:
    """Format a budget alert: the limit and the share of it that is used."""
    share = f"{event.share:.0%} of {event.name}"
    return f"· budget: {share} used by {on_one_line(event.provider, STEP_WIDTH)} ({event.used:g} of {event.limit:g})"


def progress_line(event: Progress) -> str:
    """Format the progress event, which is sent every ten rounds."""
    return f"· {event.iteration} rounds, {event.tool_calls} tool calls, {event.usage.total_tokens:,} tokens so far"


def footer(model: str, usage: Usage, *, milliseconds: int, session: str) -> str:
    """Format the last line of a turn: model, tokens, cost, duration, session."""
    facts = [model] if model else []
    facts += [f"{usage.total_tokens:,} tokens"] if usage.total_tokens else []
    facts += [money(usage.cost_micros)] if usage.cost_micros else []
    facts += [duration(milliseconds), f"session {session}"]
    return on_one_line(" · ".join(facts), REASON_WIDTH)


def counted(number: int, noun: str) -> str:
    """Format a count with its noun: `1 message`, `2 messages`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def duration(milliseconds: int) -> str:
    """Format a duration: `2 ms`, `1.4 s`, `3 min 5 s`."""
    if milliseconds < 1000:
        return f"{milliseconds} ms"
    seconds = milliseconds / 1000
    return f"{seconds:.1f} s" if seconds < 60 else f"{int(seconds // 60)} min {int(seconds % 60)} s"


def money(micros: int) -> str:
    """Format micro-USD as dollars with four decimals: `$0.0123`."""
    return f"${micros / 1_000_000:,.4f}"


def step_of(run_id: str) -> str:
    """Return the prefix `[s1] ` for the run of a plan step, and an empty string for the turn itself."""
    _, _, step = run_id.partition("/")
    return f"[{on_one_line(step, STEP_WIDTH)}] " if step else ""


def _plan_step_text(step: Mapping[str, Any]) -> str:
    facts = [f"risk {step.get('estimated_risk', 'low')}"]
    facts += [f"after {', '.join(step['depends_on'])}"] if step.get("depends_on") else []
    text = f"{step.get('id', '')}: {step.get('description', '')}"
    return f"{on_one_line(text, RESULT_WIDTH)} ({on_one_line(', '.join(facts), RESULT_WIDTH)})"


def _value_text(value: object) -> str:
    return value if isinstance(value, str) else canonical_json(value).decode()
