"""Trace of a turn as lines of text: a tree of starts, stages, model attempts, tool calls and what was decided."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from sophon.messages import Usage
from sophon.traces.published_stages import PUBLISHED_ZONE
from sophon_hosting.rendering.control_characters import escape_control_characters
from sophon_hosting.rendering.value_formatting import format_ms, format_usage_cost

Data = Mapping[str, Any]

FASTEST_SHOWN_MS = 0.05
"""Stages whose own time is less are summed up in one line."""


def format_trace_tree(trace: Data, width: int | None) -> Iterator[str]:
    """Yield the lines of a trace as JSON data; `width` cuts the text of a line, None does not."""
    for line in (*_format_head(trace), *_format_parts(trace)):
        # Not `to_single_line`: the columns are set apart by spaces.
        shown = escape_control_characters(" ".join(line.splitlines()).replace("\t", " "))
        yield shown if width is None or len(shown) <= width else f"{shown[: width - 1]}…"


def _format_head(trace: Data) -> Iterator[str]:
    error: Data = trace["error"]
    reason = f" ({trace['finish_reason']})" if trace["finish_reason"] not in ("", "stop") else ""
    yield f"trace {trace['trace_id'] or 'without an id'} · {trace['status']}{reason}"
    times = [f"{format_ms(trace['working_ms'])} of work"]
    times += [f"{format_ms(trace[name])} {text}" for name, text in _WAITS.items() if trace[name]]
    usage = trace["usage"]
    tokens = f"{usage['input_tokens']:,} tokens in, {usage['output_tokens']:,} out"
    yield f"  {', '.join(times)}; {tokens}, {format_usage_cost(Usage.from_json(usage))}"
    if error:
        yield f"  {error.get('code', '')}: {error.get('message', '')}"


_WAITS = {"waiting_ms": "of waiting", "queued_ms": "in the queue"}


def _format_parts(trace: Data) -> Iterator[str]:
    for title, rows, format_row in _PARTS:
        found: Sequence[Data] = trace[rows]
        if not found or (rows == "starts" and len(found) == 1):
            continue
        yield f"├─ {title}"
        shown = list(_format_stages(found) if format_row is None else map(format_row, found))
        for position, line in enumerate(shown, 1):
            yield f"│  {'└─' if position == len(shown) else '├─'} {line}"
    left_out = trace["left_out"]
    yield f"└─ {left_out:,} further events left out" if left_out else "└─ end"


def _format_stages(stages: Sequence[Data]) -> Iterator[str]:
    fast = [each for each in stages if each["own_ms"] < FASTEST_SHOWN_MS and each["outcome"] in ("passed", "ended")]
    for each in stages:
        if each in fast:
            continue
        if each["zone"] == PUBLISHED_ZONE:
            yield f"{each['name']:<24}{format_ms(each['own_ms']):>10}, {each['outcome']}"
            continue
        step = "  " * each["depth"]
        calls = f", {each['calls']} calls" if each["calls"] > 1 else ""
        outcome = "" if each["outcome"] == "passed" else f", {each['outcome']}"
        total = format_ms(each["total_ms"])
        yield f"{step}{each['name']:<{24 - len(step)}}{format_ms(each['own_ms']):>10} of {total}{calls}{outcome}"
    if fast:
        yield f"{len(fast)} stages of less than {FASTEST_SHOWN_MS} ms each"


def _format_attempt(each: Data) -> str:
    usage = each["usage"]
    parts = [each["outcome"], format_ms(each["duration_ms"])]
    if each["first_token_ms"] is not None:
        parts.append(f"first text after {format_ms(each['first_token_ms'])}")
    parts.append(f"{usage['input_tokens']:,} + {usage['output_tokens']:,} tokens")
    if usage["cost_micros"]:
        parts.append(format_usage_cost(Usage.from_json(usage)))
    if each["key"] is not None:
        parts.append(f"key {each['key']}")
    detail = f": {each['detail']}" if each["detail"] else ""
    return f"{_at(each)}{_step(each)}{each['model']} ({each['purpose']}): {', '.join(parts)}{detail}"


def _format_tool(each: Data) -> str:
    verdicts = "".join(f"; {one['guard']} {one['verdict']}s it ({one['rule']})" for one in each["verdicts"])
    risk = f", {each['risk']} risk" if each["risk"] else ""
    size = f", {each['result_characters']:,} characters" if each["result_characters"] else ""
    took = format_ms(each["duration_ms"])
    name = each["tool"] or each["call_id"]
    return f"{_at(each)}{_step(each)}{name}: {each['outcome']}, {took}{risk}{size}{verdicts} {each['arguments']}"


def _format_approval(each: Data) -> str:
    if each["decided_ms"] is None:
        return f"{_at(each)}{each['tool'] or each['kind']} ({each['risk']}): nobody has decided"
    waited = format_ms(each["decided_ms"] - each["start_ms"])
    return f"{_at(each)}{each['tool'] or each['kind']}: {each['decision']} by {each['decided_by']} after {waited}"


def _format_agent(each: Data) -> str:
    indent = "  " * each["id"].count("/")
    text = f"{indent}{each['agent']} [{each['id']}]: {each['state']}, {format_ms(each['duration_ms'])}"
    return f"{_at(each)}{text} {each['reason']}".rstrip()


def _format_note(each: Data) -> str:
    data = ", ".join(f"{name} {value}" for name, value in each["data"].items() if value not in ("", None, [], {}))
    return f"{_at(each)}{_step(each)}{each['kind']}: {data}"


_PARTS: Sequence[tuple[str, str, Callable[[Data], str] | None]] = (
    ("starts", "starts", lambda each: f"{_at(each)}{format_ms(each['end_ms'] - each['start_ms'])}, {each['end']}"),
    ("stages (own time of total)", "stages", None),
    ("model attempts", "attempts", _format_attempt),
    ("tool calls", "tools", _format_tool),
    ("approvals", "approvals", _format_approval),
    (
        "plan",
        "steps",
        lambda each: f"{_at(each)}{each['id']}: {each['status']}, {format_ms(each['duration_ms'])} {each['reason']}",
    ),
    ("sub-agents", "agents", _format_agent),
    ("prompt", "prompt", lambda each: f"{each['kind']} {each['name']}: {each['tokens']:,} tokens"),
    ("notes", "notes", _format_note),
)


def _at(each: Data) -> str:
    return f"{each['start_ms'] / 1000:>8.3f} s  "


def _step(each: Data) -> str:
    return f"[{each['step']}] " if each["step"] else ""
