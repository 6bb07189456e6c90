"""`sophon trace [TASK]`: how turns went, with times, tokens and cost; `sophon trace replay TASK`: ask another model."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from sophon.errors import SophonError
from sophon.messages import Usage
from sophon_hosting.cli.bootstrap import load_cli_settings
from sophon_hosting.cli.common_options import HostUrlOption, JsonOption, command_group
from sophon_hosting.cli.console.output import (
    write_json,
    write_lines,
    write_new_json_file,
    write_notice,
    write_result,
    write_rows,
)
from sophon_hosting.cli.operation_commands import Row
from sophon_hosting.cli.remote.host_selection import find_client, local_host_url, open_client
from sophon_hosting.features.tasks.operations import get_task, list_task_events
from sophon_hosting.features.traces.operations import get_trace, list_traces
from sophon_hosting.features.traces.replays import replay_own_turn
from sophon_hosting.operations.client import Client
from sophon_hosting.rendering.control_characters import to_single_line
from sophon_hosting.rendering.replay_comparison import format_comparison
from sophon_hosting.rendering.trace_tree import format_ms, format_trace_tree
from sophon_hosting.rendering.value_formatting import format_arguments, format_usage_cost

LINE_CHARACTERS = 100
DEFAULT_TRACES = 20
EventData = Mapping[str, Any]


class TraceGroup(TyperGroup):
    """Command group in which `sophon trace [TASK]` is `sophon trace show [TASK]`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert the name of the default command unless one is named. typer does not export the type of `ctx`."""
        return super().parse_args(ctx, args if args[:1] in (["show"], ["replay"], ["export"]) else ["show", *args])


app = command_group(
    "Show how turns went, and replay one. `sophon trace [TASK]` is `sophon trace show [TASK]`.", cls=TraceGroup
)


@app.command()
def show(
    ctx: typer.Context,
    task: Annotated[str | None, typer.Argument(metavar="TASK")] = None,
    last: Annotated[
        int | None, typer.Option("--last", min=1, max=1000, metavar="N", help="List the last N turns.")
    ] = None,
    session: Annotated[str | None, typer.Option(metavar="ID", help="List the turns of this session.")] = None,
    full: Annotated[bool, typer.Option("--full", help="Do not cut long lines.")] = False,
    url: HostUrlOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show how a turn went: models, tools, plans, approvals, stages, outcome. Without TASK, list the last turns.

    `sophon trace replay TASK` asks another model or chain.
    """
    if task is not None and (last is not None or session is not None):
        raise typer.BadParameter("give a task, or --last and --session for a list")
    client = open_client(ctx.obj, url)
    if task is None:
        _list_traces(client, session, last or DEFAULT_TRACES, as_json=as_json)
        return
    found = find_trace(client, task)
    row: Row | None = None
    events: Sequence[Row] = ()
    try:
        row = client.call(get_task, task_id=task)
        events = client.call(list_task_events, task_id=task)["items"]
    except SophonError as error:
        if found is None or error.code != "not_found":
            raise  # else it is the turn of a local chat, which is no task of a host
    if as_json:
        write_json({"task": row, "events": list(events), "trace": found})
        return
    width = None if full else LINE_CHARACTERS
    if row is not None:
        write_lines(format_trace(row, events, width))
    if found is not None:
        write_lines([f"turn {task} · session {found['session_id']}"] if row is None else [""])
        write_lines(format_trace_tree(found, width))


@app.command()
def replay(
    ctx: typer.Context,
    task: Annotated[str, typer.Argument(metavar="TASK", help="A turn of your own.")],
    model: Annotated[
        str | None, typer.Option(metavar="NAME", help="Ask this model: its name, or provider/name.")
    ] = None,
    chain: Annotated[
        str | None, typer.Option(metavar="NAME", help="Run this chain; over a host, for operators.")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Do not cut long lines.")] = False,
    url: HostUrlOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run a turn again with another model or chain, and show both. No tool runs, nothing is stored; usage is charged.

    A call with the tool and the arguments of a recorded one gets its result, and any other one is not run.
    """
    if (client := find_client(ctx.obj, url)) is not None:
        found = client.call(replay_own_turn, task_id=task, chain=chain, model=model)
    else:
        from sophon_hosting.cli.remote.stored_replay import replay_stored_turn  # lazy: it needs a whole chain

        settings = load_cli_settings(ctx.obj)
        write_notice(f"no host runs at {local_host_url(settings)}; using the store")
        found = replay_stored_turn(ctx.obj, settings, task, chain=chain, model=model)
    write_result(found, format_comparison(found, None if full else LINE_CHARACTERS), as_json=as_json)


@app.command()
def export(
    ctx: typer.Context,
    task: Annotated[str, typer.Argument(metavar="TASK")],
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to a new file.")] = None,
    url: HostUrlOption = None,
) -> None:
    """Write a trace as JSON of OTLP, which OpenTelemetry collectors and trace viewers import."""
    document = open_client(ctx.obj, url).call(get_trace, task_id=task, format="otlp")
    if output is None:
        write_json(document)
    else:
        write_new_json_file(output, document)


def find_trace(client: Client, task_id: str) -> Row | None:
    """Return the trace of a task; None if it has none."""
    try:
        return client.call(get_trace, task_id=task_id)
    except SophonError as error:
        if error.code != "not_found":
            raise
        return None


def _list_traces(client: Client, session: str | None, limit: int, *, as_json: bool) -> None:
    everything = client.is_operator or None
    found = client.call(list_traces, session_id=session, limit=limit, everything=everything)["items"]
    write_rows(found, _HEADINGS, [_to_cells(each) for each in found], "There are no traces.", as_json=as_json)


_HEADINGS = ("task", "session", "ended (UTC)", "status", "model", "attempts#", "tools#", "tokens#", "cost#", "work#")


def _to_cells(row: Row) -> list[str]:
    usage = Usage.from_json(row["usage"])
    return [
        row["run_id"],
        row["session_id"],
        datetime.fromisoformat(row["ended_at"]).strftime("%Y-%m-%d %H:%M:%S"),
        row["status"],
        row["model"],
        f"{row['attempts_count']:,}",
        f"{row['tools_count']:,}",
        f"{usage.total_tokens:,}",
        format_usage_cost(usage),
        format_ms(row["working_ms"]),
    ]


def format_trace(task: Row, events: Sequence[Row], width: int | None) -> Iterator[str]:
    """Yield the lines of a trace; events of plan steps are indented. `width` cuts the text of a line, None does not."""
    yield to_single_line(f"task {task['task_id']} · session {task['session_id']} · {task['status']}")
    start = _event_time(events[0]) if events else None
    for event in events:
        format_event = EVENT_FORMATTERS.get(event["event"])
        if format_event is None:
            continue
        data: EventData = event["data"]
        at = _event_time(event)
        offset = (at - start).total_seconds() if at and start else 0.0
        depth = str(data.get("run_id", "")).count("/")
        label, _, text = format_event(data).partition(" ")
        yield f"{offset:>9.3f} s  {'    ' * depth}{label:<9}{to_single_line(text.strip(), width)}".rstrip()
    usage = task["usage"]
    tokens = f"{usage['input_tokens']:,} tokens in, {usage['output_tokens']:,} out"
    yield f"{'':<12}{tokens}, {format_usage_cost(Usage.from_json(usage))}"


def _event_time(event: Row) -> datetime | None:
    at = event.get("at")
    return datetime.fromisoformat(at) if at else None


def _model_attempt(data: EventData) -> str:
    usage = data["usage"]
    tokens = f"{usage['input_tokens']:,} + {usage['output_tokens']:,} tokens"
    return f"model    {data['model']} ({data['purpose']}): {data['outcome']}, {data['duration_ms']} ms, {tokens}"


def _approval_requested(data: EventData) -> str:
    return f"approval {data['tool']} ({data['risk']} risk), {data['approval_id']}"


def _approval_resolved(data: EventData) -> str:
    reason = f": {data['reason']}" if data["reason"] else ""
    edited = f" ({format_arguments(data['arguments'])})" if data.get("arguments") is not None else ""
    return f"decided  {data['decision']} by {data['decided_by'] or 'nobody'}{edited}{reason}"


def _guard_verdict(data: EventData) -> str:
    tool = f"{data['tool']} " if data.get("tool") else ""
    return f"guard    {data['guard']}: {tool}{data['verdict']}, {data['rule']}: {data['reason']}"


def _budget_alert(data: EventData) -> str:
    what = "refuses calls" if data.get("refused") else f"{data['share']:.0%} used"
    return f"budget   {data['name']} of {data.get('principal') or data.get('task_type') or data['provider']}: {what}"


def _route_chosen(data: EventData) -> str:
    flags = f" ({', '.join(data['flags'])})" if data.get("flags") else ""
    return f"route    {data['model'] or 'no model'}: {data['reason']}{flags}"


def _stage_completed(data: EventData) -> str:
    shown = {key: f"{value:.2f}" if isinstance(value, float) else value for key, value in data["data"].items()}
    found = ", ".join(f"{key} {value}" for key, value in shown.items() if not isinstance(value, dict | list))
    return f"stage    {data['stage']} of call {data['model_call']}{': ' if found else ''}{found}"


def _skills_offered(data: EventData) -> str:
    left_out = f"; left out: {', '.join(data['left_out'])}" if data["left_out"] else ""
    return f"skills   {len(data['names'])} listed, {data['tokens']:,} tokens: {', '.join(data['names'])}{left_out}"


def _mcp_requested(data: EventData) -> str:
    questions = f", {data['questions']} questions" if data["questions"] else ""
    failed = f", failed: {data['error']}" if data["error"] else ""
    return f"mcp      {data['server']} {data['tool']} ({data['protocol']}), {data['duration_ms']} ms{questions}{failed}"


def _tools_offered(data: EventData) -> str:
    groups = ", ".join(f"{name or 'no group'} {tokens:,}" for name, tokens in data["by_group"].items())
    return f"tools    {len(data['names'])} offered, {data['tokens']:,} tokens: {groups}"


def _memory_recalled(data: EventData) -> str:
    parts = ", ".join(f"{name} {tokens:,}" for name, tokens in data.get("parts", {}).items())
    return f"memory   {len(data['entry_ids'])} entries in the prompt, {data['tokens']:,} tokens: {parts}"


EVENT_FORMATTERS: Mapping[str, Callable[[EventData], str]] = {
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
