"""Timeline of a task by its events: one line for each that a person wants to see, with the seconds since the first."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeAlias

from sophon.messages import Usage
from sophon_hosting.rendering.control_characters import to_single_line
from sophon_hosting.rendering.value_formatting import format_arguments, format_usage_cost

Data: TypeAlias = Mapping[str, Any]


def format_task(task: Data, events: Sequence[Data], width: int | None) -> Iterator[str]:
    """Yield the lines of a task; events of plan steps are indented. `width` cuts the text of a line, None does not."""
    yield to_single_line(f"task {task['task_id']} · session {task['session_id']} · {task['status']}")
    start = _event_time(events[0]) if events else None
    for event in events:
        format_event = EVENT_FORMATTERS.get(event["event"])
        if format_event is None:
            continue
        data: Data = event["data"]
        at = _event_time(event)
        offset = (at - start).total_seconds() if at and start else 0.0
        depth = str(data.get("run_id", "")).count("/")
        label, _, text = format_event(data).partition(" ")
        yield f"{offset:>9.3f} s  {'    ' * depth}{label:<9}{to_single_line(text.strip(), width)}".rstrip()
    usage = task["usage"]
    tokens = f"{usage['input_tokens']:,} tokens in, {usage['output_tokens']:,} out"
    yield f"{'':<12}{tokens}, {format_usage_cost(Usage.from_json(usage))}"


def _event_time(event: Data) -> datetime | None:
    at = event.get("at")
    return datetime.fromisoformat(at) if at else None


def _model_attempt(data: Data) -> str:
    usage = data["usage"]
    tokens = f"{usage['input_tokens']:,} + {usage['output_tokens']:,} tokens"
    return f"model    {data['model']} ({data['purpose']}): {data['outcome']}, {data['duration_ms']} ms, {tokens}"


def _approval_requested(data: Data) -> str:
    return f"approval {data['tool']} ({data['risk']} risk), {data['approval_id']}"


def _approval_resolved(data: Data) -> str:
    reason = f": {data['reason']}" if data["reason"] else ""
    edited = f" ({format_arguments(data['arguments'])})" if data.get("arguments") is not None else ""
    return f"decided  {data['decision']} by {data['decided_by'] or 'nobody'}{edited}{reason}"


def _guard_verdict(data: Data) -> str:
    tool = f"{data['tool']} " if data.get("tool") else ""
    return f"guard    {data['guard']}: {tool}{data['verdict']}, {data['rule']}: {data['reason']}"


def _budget_alert(data: Data) -> str:
    what = "refuses calls" if data.get("refused") else f"{data['share']:.0%} used"
    return f"budget   {data['name']} of {data.get('principal') or data.get('task_type') or data['provider']}: {what}"


def _route_chosen(data: Data) -> str:
    flags = f" ({', '.join(data['flags'])})" if data.get("flags") else ""
    return f"route    {data['model'] or 'no model'}: {data['reason']}{flags}"


def _stage_completed(data: Data) -> str:
    shown = {key: f"{value:.2f}" if isinstance(value, float) else value for key, value in data["data"].items()}
    found = ", ".join(f"{key} {value}" for key, value in shown.items() if not isinstance(value, dict | list))
    return f"stage    {data['stage']} of call {data['model_call']}{': ' if found else ''}{found}"


def _skills_offered(data: Data) -> str:
    left_out = f"; left out: {', '.join(data['left_out'])}" if data["left_out"] else ""
    return f"skills   {len(data['names'])} listed, {data['tokens']:,} tokens: {', '.join(data['names'])}{left_out}"


def _mcp_requested(data: Data) -> str:
    questions = f", {data['questions']} questions" if data["questions"] else ""
    failed = f", failed: {data['error']}" if data["error"] else ""
    return f"mcp      {data['server']} {data['tool']} ({data['protocol']}), {data['duration_ms']} ms{questions}{failed}"


def _tools_offered(data: Data) -> str:
    groups = ", ".join(f"{name or 'no group'} {tokens:,}" for name, tokens in data["by_group"].items())
    return f"tools    {len(data['names'])} offered, {data['tokens']:,} tokens: {groups}"


def _memory_recalled(data: Data) -> str:
    parts = ", ".join(f"{name} {tokens:,}" for name, tokens in data.get("parts", {}).items())
    return f"memory   {len(data['entry_ids'])} entries in the prompt, {data['tokens']:,} tokens: {parts}"


EVENT_FORMATTERS: Mapping[str, Callable[[Data], str]] = {
    "task_queued": lambda data: f"queued   {data['position']} ahead: {data['text']}",
    "task_started": lambda data: "started",
    "model_attempt": _model_attempt,
    "model_fallback": lambda data: f"fallback {', '.join(data['states'])}",
    "route_chosen": _route_chosen,
    "stage_completed": _stage_completed,
    "skills_offered": _skills_offered,
    "skill_loaded": lambda data: f"skill    {data['name']} loaded, {data['tokens']:,} tokens",
    "tools_offered": _tools_offered,
    "mcp_requested": _mcp_requested,
    "memory_recalled": _memory_recalled,
    "memory_learned": lambda data: f"memory   {len(data['entry_ids'])} facts stored",
    "memory_flush": lambda data: f"memory   {len(data['texts'])} facts stored before compaction",
    "tool_call_started": lambda data: f"tool     {data['tool']} started",
    "tool_call_completed": lambda data: f"tool     {data['tool']}: {data['outcome']}, {data['duration_ms']} ms",
    "plan_proposed": lambda data: (
        f"plan     {data['plan'].get('goal', '')}, {len(data['plan'].get('steps', []))} steps"
    ),
    "plan_step_changed": lambda data: f"step     {data['step_id']}: {data['status']} {data['reason']}".rstrip(),
    "guard_verdict": _guard_verdict,
    "approval_requested": _approval_requested,
    "approval_resolved": _approval_resolved,
    "context_compacted": lambda data: f"compact  {data['messages']} messages by {data['how']}",
    "loop_warning": lambda data: (
        f"loop     {data['level']}: {data['pattern']} of {data['tool']}, {data['count']} times"
    ),
    "budget_alert": _budget_alert,
    "provider_excluded": lambda data: f"excluded {data['provider']}: {data['reason']}",
    "progress": lambda data: f"round    {data['iteration']}, {data['tool_calls']} tool calls",
    "answer_undelivered": lambda data: f"lost     the answer was not delivered on {data['channel']}: {data['detail']}",
    "session_titled": lambda data: f"title    {data['title']}",
    "task_completed": lambda data: f"ended    {data['finish_reason']}, {data['duration_ms']} ms of work",
    "task_failed": lambda data: f"failed   {data['error'].get('message', '')} ({data['error'].get('code', '')})",
    "task_cancelled": lambda data: "cancelled",
}
"""Event name to a function that returns `label text`; other events are omitted (`sophon sessions show` has texts)."""
