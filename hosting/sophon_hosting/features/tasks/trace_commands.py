"""`sophon trace [TASK]`: how turns went, with times, tokens and cost; `sophon trace replay TASK`: ask another model."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from sophon.errors import SophonError
from sophon.messages import Usage
from sophon_hosting.cli.bootstrap import load_cli_settings
from sophon_hosting.cli.common_options import HostUrlOption, JsonOption, OutputOption, TaskArgument, command_group
from sophon_hosting.cli.console.output import (
    write_json,
    write_lines,
    write_notice,
    write_result,
    write_rows,
)
from sophon_hosting.cli.operation_commands import Row
from sophon_hosting.cli.remote.host_selection import find_client, local_host_url, open_client
from sophon_hosting.features.tasks.operations import get_task, list_task_events
from sophon_hosting.features.tasks.task_timeline import format_task
from sophon_hosting.features.traces.comparison_text import format_comparison
from sophon_hosting.features.traces.operations import get_trace, list_traces
from sophon_hosting.features.traces.replay_operations import replay_own_turn
from sophon_hosting.features.traces.trace_text import format_trace_tree
from sophon_hosting.operations.client import Client
from sophon_hosting.rendering.value_formatting import format_ms, format_time, format_usage_cost

LINE_CHARACTERS = 100
DEFAULT_TRACES = 20


class TraceGroup(TyperGroup):
    """Command group in which `sophon trace [TASK]` is `sophon trace show [TASK]`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert the name of the default command unless one is named. typer does not export the type of `ctx`."""
        return super().parse_args(ctx, args if args[:1] in (["show"], ["replay"], ["export"]) else ["show", *args])


app = command_group(
    "Show how turns went, with times, tokens and cost; replay one. `trace [TASK]` is `trace show [TASK]`.",
    cls=TraceGroup,
)


@app.command()
def show(
    ctx: typer.Context,
    task: Annotated[str | None, typer.Argument(metavar="TASK", help="The id of a task.")] = None,
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
        write_lines(format_task(row, events, width))
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
        from sophon_hosting.features.traces.replay_without_host import (
            replay_stored_turn,  # lazy: it needs a whole chain
        )

        settings = load_cli_settings(ctx.obj)
        write_notice(f"no host runs at {local_host_url(settings)}; using the store")
        found = replay_stored_turn(ctx.obj, settings, task, chain=chain, model=model)
    write_result(found, format_comparison(found, None if full else LINE_CHARACTERS), as_json=as_json)


@app.command()
def export(
    ctx: typer.Context,
    task: TaskArgument,
    output: OutputOption = None,
    url: HostUrlOption = None,
) -> None:
    """Write a trace as JSON of OTLP, which OpenTelemetry collectors and trace viewers import."""
    write_json(open_client(ctx.obj, url).call(get_trace, task_id=task, format="otlp"), output)


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
        format_time(row["ended_at"]),
        row["status"],
        row["model"],
        f"{row['attempts_count']:,}",
        f"{row['tools_count']:,}",
        f"{usage.total_tokens:,}",
        format_usage_cost(usage),
        format_ms(row["working_ms"]),
    ]
