"""Formatting of turn events as short lines of text: tool calls, plans, approvals, compaction, budget, progress."""

from collections.abc import Mapping, Sequence
from typing import Any

from sophon.events import (
    ApprovalResolved,
    BudgetAlert,
    ContextCompacted,
    GuardVerdict,
    LoopWarning,
    PlanStepChanged,
    Progress,
    ProviderExcluded,
    ToolCallCompleted,
)
from sophon.messages import ToolCallOutcome, Usage
from sophon_hosting.rendering.control_characters import to_single_line
from sophon_hosting.rendering.value_formatting import (
    ARGUMENTS_CHARACTERS,
    format_arguments,
    format_count,
    format_duration,
    format_usage_cost,
)
from sophon_middlewares.inner.approval.approval import DECIDED_BY_TIMEOUT

RESULT_CHARACTERS = 60
REASON_CHARACTERS = 200
STEP_CHARACTERS = 60

OUTCOME_SYMBOLS: Mapping[ToolCallOutcome, str] = {
    "completed": "✓",
    "denied": "✗",
    "failed": "✗",
    "timed_out": "✗",
    "cancelled": "–",
    "discarded": "–",
    "interrupted": "?",
}
BLOCKED_SYMBOL = "⊘"
STEP_SYMBOLS = {"running": "▸", "completed": "✓", "failed": "✗", "skipped": "–", "cancelled": "–", "pending": "·"}


def format_tool_call(event: ToolCallCompleted, arguments: Mapping[str, Any], block: GuardVerdict | None = None) -> str:
    """Format a finished tool call: `✓ calculator (17 * 23) → 391 · 2 ms`; otherwise its outcome and the reason.

    `block` is the verdict of the guard that has blocked it: `⊘ files.write (SOUL.md) blocked by Protection: SOUL.md can
    only be read (protected_read_only)`.
    """
    tool = to_single_line(event.tool, ARGUMENTS_CHARACTERS)
    symbol = BLOCKED_SYMBOL if block is not None else OUTCOME_SYMBOLS[event.outcome]
    head = f"{symbol} {format_step_prefix(event.run_id)}{tool}"
    arguments = arguments or (block.arguments if block is not None else {})
    if arguments:
        head += f" ({format_arguments(arguments)})"
    if block is not None:
        reason = to_single_line(f"{block.reason} ({block.rule})", REASON_CHARACTERS)
        return f"{head} blocked by {to_single_line(block.guard, STEP_CHARACTERS)}: {reason}"
    text = event.result
    if event.outcome == "completed":
        result = to_single_line(text, RESULT_CHARACTERS)
        return f"{head} → {result or 'nothing'} · {format_duration(event.duration_ms)}"
    outcome = event.outcome.replace("_", " ")
    detail = text.removeprefix("error: ").removeprefix("denied: ").removeprefix(f"{event.tool} {outcome}: ")
    reason = to_single_line(detail, REASON_CHARACTERS)
    return f"{head} {outcome}" if reason in ("", outcome) else f"{head} {outcome}: {reason}"


def format_plan(plan: Mapping[str, Any]) -> list[str]:
    """Format a plan: the goal, and one line per step, `1. s1: description (risk medium, after s0)`."""
    steps: Sequence[Mapping[str, Any]] = plan.get("steps", ())
    head = f"Plan of {len(steps)} steps: {to_single_line(str(plan.get('goal', '')), REASON_CHARACTERS)}"
    return [head, *(f"{number}. {_plan_step_text(step)}" for number, step in enumerate(steps, start=1))]


def format_plan_step(event: PlanStepChanged, descriptions: Mapping[str, str]) -> str:
    """Format the new status of a plan step: `▸ s1: description`, `✓ s1 done`, `✗ s1 failed: reason`."""
    step_id = to_single_line(event.step_id, STEP_CHARACTERS)
    head = f"{STEP_SYMBOLS[event.status]} {format_step_prefix(event.run_id)}{step_id}"
    if event.status == "running":
        return f"{head}: {to_single_line(descriptions.get(event.step_id, ''), STEP_CHARACTERS)}"
    if event.status == "completed":
        return f"{head} done"
    reason = to_single_line(event.reason, REASON_CHARACTERS)
    return f"{head} {event.status}{': ' if reason else ''}{reason}"


def format_decision(event: ApprovalResolved) -> str:
    """Format an approval that was not decided at this terminal, but elsewhere or by expiry."""
    if event.decided_by == DECIDED_BY_TIMEOUT:
        return f"✗ the approval expired: {to_single_line(event.reason, REASON_CHARACTERS)}"
    who = f" by {event.decided_by}" if event.decided_by else ""
    edited = f" ({format_arguments(event.arguments)})" if event.arguments is not None else ""
    text = f"· {event.decision}{who}{edited}{': ' if event.reason else ''}{event.reason}"
    return to_single_line(text, REASON_CHARACTERS)


def format_compaction(event: ContextCompacted) -> str:
    """Format a compaction: how many messages were summarised or left out, and the tokens before and after."""
    nouns = {"summary": ("older message", "summarised"), "results": ("tool result", "cut")}
    noun, how = nouns.get(event.how, ("older message", "left out"))
    size = f"{event.tokens_before:,} to {event.tokens_after:,} tokens"
    return f"· context compacted: {format_count(event.messages, noun)} {how} ({size})"


def format_loop_warning(event: LoopWarning) -> str:
    """Format a loop warning."""
    return f"· loop {event.level}: {to_single_line(event.detail or event.pattern, REASON_CHARACTERS)}"


def format_budget_alert(event: BudgetAlert) -> str:
    """Format a budget alert: the limit and the share of it that is used."""
    provider = to_single_line(event.principal or event.task_type or event.provider, STEP_CHARACTERS)
    amount = f"({event.used:g} of {event.limit:g})"
    if event.refused:
        return f"· budget: {event.name} of {provider} refuses calls {amount}"
    return f"· budget: {event.share:.0%} of {event.name} used by {provider} {amount}"


def format_exclusion(event: ProviderExcluded) -> str:
    """Format the exclusion of a provider from the turn, with its reason."""
    return to_single_line(f"· {event.provider} is not used: {event.reason}", REASON_CHARACTERS)


def format_progress(event: Progress) -> str:
    """Format the progress event, which is sent every ten rounds."""
    return f"· {event.iteration} rounds, {event.tool_calls} tool calls, {event.usage.total_tokens:,} tokens so far"


def format_turn_footer(model: str, usage: Usage, *, milliseconds: int, session_id: str) -> str:
    """Format the last line of a turn: model, tokens, cost, duration, session."""
    facts = [model] if model else []
    facts += [f"{usage.total_tokens:,} tokens"] if usage.total_tokens else []
    facts += [format_usage_cost(usage)] if usage.cost_micros or usage.unpriced_tokens else []
    facts += [format_duration(milliseconds), f"session {session_id}"]
    return to_single_line(" · ".join(facts), REASON_CHARACTERS)


def format_step_prefix(run_id: str) -> str:
    """Return the prefix `[s1] ` for the run of a plan step, and an empty string for the turn itself."""
    _, _, step = run_id.partition("/")
    return f"[{to_single_line(step, STEP_CHARACTERS)}] " if step else ""


def _plan_step_text(step: Mapping[str, Any]) -> str:
    facts = [f"risk {step.get('estimated_risk', 'low')}"]
    facts += [f"after {', '.join(step['depends_on'])}"] if step.get("depends_on") else []
    text = f"{step.get('id', '')}: {step.get('description', '')}"
    return f"{to_single_line(text, RESULT_CHARACTERS)} ({to_single_line(', '.join(facts), RESULT_CHARACTERS)})"
