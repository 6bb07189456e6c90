"""What happens in a turn, told in quiet lines: one event in, its lines out."""

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
    """`✓ calculator (17 * 23) → 391 · 2 ms`; what did not go well says its outcome and why."""
    head = f"{OUTCOMES[event.outcome]} {step_of(event.run_id)}{on_one_line(event.tool, ARGUMENTS_WIDTH)}"
    if arguments:
        head += f" ({arguments_text(arguments)})"
    if event.outcome == "completed":
        result = on_one_line(unfence(event.result), RESULT_WIDTH)
        return f"{head} → {result or 'nothing'} · {duration(event.duration_ms)}"
    outcome = event.outcome.replace("_", " ")
    said = event.result.removeprefix("error: ").removeprefix("denied: ").removeprefix(f"{event.tool} {outcome}: ")
    reason = on_one_line(said, REASON_WIDTH)
    return f"{head} {outcome}" if reason in ("", outcome) else f"{head} {outcome}: {reason}"


def arguments_text(arguments: Mapping[str, Any]) -> str:
    """The values alone where there is one, `name=value` where there are several; cut."""
    values = {name: _value(value) for name, value in arguments.items()}
    text = ", ".join(values.values() if len(values) == 1 else (f"{name}={value}" for name, value in values.items()))
    return on_one_line(text, ARGUMENTS_WIDTH)


def plan_lines(plan: Mapping[str, Any]) -> list[str]:
    """The goal, and a line per step: `1. s1: what it does (risk medium, after s0)`."""
    steps: Sequence[Mapping[str, Any]] = plan.get("steps", ())
    head = f"Plan of {len(steps)} steps: {on_one_line(str(plan.get('goal', '')), REASON_WIDTH)}"
    return [head, *(f"{number}. {_step(step)}" for number, step in enumerate(steps, start=1))]


def step_line(event: PlanStepChanged, descriptions: Mapping[str, str]) -> str:
    """`▸ s1: what it does`, `✓ s1 done`, `✗ s1 failed: reason`."""
    head = f"{STEPS[event.status]} {step_of(event.run_id)}{on_one_line(event.step_id, STEP_WIDTH)}"
    if event.status == "running":
        return f"{head}: {on_one_line(descriptions.get(event.step_id, ''), STEP_WIDTH)}"
    if event.status == "completed":
        return f"{head} done"
    reason = on_one_line(event.reason, REASON_WIDTH)
    return f"{head} {event.status}{': ' if reason else ''}{reason}"


def decision_line(event: ApprovalResolved) -> str:
    """What was decided by somebody who did not sit at the terminal, be it time."""
    if event.decided_by == EXPIRY:
        return f"✗ the question expired: {on_one_line(event.reason, REASON_WIDTH)}"
    who = f" by {event.decided_by}" if event.decided_by else ""
    return on_one_line(f"· {event.decision}{who}{': ' if event.reason else ''}{event.reason}", REASON_WIDTH)


def compaction_line(event: ContextCompacted) -> str:
    """How much of the conversation the model now sees in short."""
    how = "summarised" if event.how == "summary" else "left out"
    size = f"{event.tokens_before:,} to {event.tokens_after:,} tokens"
    return f"· the conversation grew long: {counted(event.messages, 'older message')} {how} ({size})"


def loop_line(event: LoopWarning) -> str:
    """What the loop detector saw."""
    return f"· loop {event.level}: {on_one_line(event.detail or event.pattern, REASON_WIDTH)}"


def budget_line(event: BudgetAlert) -> str:
    """Which limit is near or met."""
    share = f"{event.share:.0%} of {event.name}"
    return f"· budget: {share} used by {on_one_line(event.provider, STEP_WIDTH)} ({event.used:g} of {event.limit:g})"


def progress_line(event: Progress) -> str:
    """Every ten rounds: how far it is."""
    return f"· {event.iteration} rounds, {event.tool_calls} tool calls, {event.usage.total_tokens:,} tokens so far"


def footer(model: str, usage: Usage, *, milliseconds: int, session: str) -> str:
    """Which model answered, what it took, and where the conversation is kept."""
    facts = [model] if model else []
    facts += [f"{usage.total_tokens:,} tokens"] if usage.total_tokens else []
    facts += [money(usage.cost_micros)] if usage.cost_micros else []
    facts += [duration(milliseconds), f"session {session}"]
    return on_one_line(" · ".join(facts), REASON_WIDTH)


def counted(number: int, noun: str) -> str:
    """`1 message`, `2 messages`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def duration(milliseconds: int) -> str:
    """`2 ms`, `1.4 s`, `3 min 5 s`."""
    if milliseconds < 1000:
        return f"{milliseconds} ms"
    seconds = milliseconds / 1000
    return f"{seconds:.1f} s" if seconds < 60 else f"{int(seconds // 60)} min {int(seconds % 60)} s"


def money(micros: int) -> str:
    """Micro-USD as dollars, to a hundredth of a cent: `$0.0123`."""
    return f"${micros / 1_000_000:,.4f}"


def step_of(run_id: str) -> str:
    """`[s1] ` for what happens in a plan step, nothing for the turn itself."""
    _, _, step = run_id.partition("/")
    return f"[{on_one_line(step, STEP_WIDTH)}] " if step else ""


def _step(step: Mapping[str, Any]) -> str:
    facts = [f"risk {step.get('estimated_risk', 'low')}"]
    facts += [f"after {', '.join(step['depends_on'])}"] if step.get("depends_on") else []
    text = f"{step.get('id', '')}: {step.get('description', '')}"
    return f"{on_one_line(text, RESULT_WIDTH)} ({on_one_line(', '.join(facts), RESULT_WIDTH)})"


def _value(value: object) -> str:
    return value if isinstance(value, str) else canonical_json(value).decode()
