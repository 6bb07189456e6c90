"""`sophon trajectories`: list, show and export what is kept of finished turns. A host may run."""

import os
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from sophon.clock import SystemClock
from sophon.errors import InputError, NotFound
from sophon.learning.trajectories import (
    GOOD_FROM,
    MAX_KEPT,
    POOR_BELOW,
    Trajectory,
    count_poor,
    describe_scores,
    needs_evolution,
    summarize,
)
from sophon.models.embeddings.embedder_factory import create_cached_embedder
from sophon.models.model import metering
from sophon.stores.trajectories.similarity import find_similar
from sophon.stores.trajectories.trajectory_write import TrajectoryOrder
from sophon_hosting.cli.bootstrap import load_cli_settings, run_with_store
from sophon_hosting.cli.common_options import IgnoredJsonOption, JsonOption, OutputOption, TaskArgument
from sophon_hosting.cli.console.json_lines import write_json_lines
from sophon_hosting.cli.console.output import write_json, write_lines, write_notice, write_table
from sophon_hosting.cli.global_options import GlobalOptions
from sophon_hosting.rendering.value_formatting import format_time
from sophon_hosting.store.contract import HostStore
from sophon_middlewares.outer.budget.embedding_meter import EmbeddingMeter

DEFAULT_LIMIT = 50
MAX_LIMIT = 100_000

LimitOption = Annotated[int, typer.Option(min=1, max=MAX_LIMIT, metavar="N", help="Trajectories at most.")]
BestOption = Annotated[bool, typer.Option("--best", help="Only good ones, the best first.")]
PoorOption = Annotated[bool, typer.Option("--poor", help="Only poor ones, the poorest first.")]

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.callback(invoke_without_command=True)
def trajectories(ctx: typer.Context) -> None:
    """List, show and export what is kept of finished turns: request, route, answer, scores, feedback."""
    if ctx.invoked_subcommand is None:
        list_trajectories(ctx)


@app.command("list")
def list_trajectories(
    ctx: typer.Context,
    best: BestOption = False,
    poor: PoorOption = False,
    like: Annotated[str | None, typer.Option(metavar="TEXT", help="Those with the most similar requests.")] = None,
    limit: LimitOption = DEFAULT_LIMIT,
    as_json: JsonOption = False,
) -> None:
    """List the trajectories, the newest first."""
    if best + poor + (like is not None) > 1:
        raise InputError("give one of --best, --poor and --like")
    if like is not None:
        _list_similar(ctx.obj, like, limit, as_json=as_json)
        return
    found = run_with_store(ctx.obj, lambda store: _read(store, best=best, poor=poor, limit=limit))
    if as_json:
        write_json([each.to_json() for each in found])
        return
    if not found:
        write_lines([_describe_none(ctx.obj, best=best, poor=poor)])
        return
    write_table(_HEADINGS, map(_to_cells, found))
    _write_summary(found)


@app.command()
def show(ctx: typer.Context, task: TaskArgument, as_json: JsonOption = False) -> None:
    """Show one trajectory with its texts, scores and feedback."""

    async def read(store: HostStore) -> tuple[Trajectory, list[dict[str, Any]]]:
        found = await store.trajectories.find(task)
        if found is None:
            raise NotFound("trajectory", task)
        given = await store.trajectories.list_feedback(task)
        return found, [
            {"person": each.principal, "value": each.value, "text": each.text, "source": each.source} for each in given
        ]

    found, given = run_with_store(ctx.obj, read)
    if as_json:
        write_json({**found.to_json(), "people": given})
        return
    facts = [
        ("task", found.run_id),
        ("time (UTC)", format_time(found.at)),
        ("session", found.session_id),
        ("type", found.task_type),
        ("model", found.model),
        ("route", " ".join(part for part in (found.strategy, found.tier) if part)),
        ("tools", ", ".join(found.tools)),
        ("ended", found.finish_reason),
        ("quality", _format_quality(found)),
        ("scores", describe_scores(found.scores or {})),
        *(("feedback", " ".join(f"{each['person']}: {each['value']:+g} {each['text']}".split())) for each in given),
    ]
    write_lines([f"{name}: {value}" for name, value in facts if value])
    write_lines(["", "request:", found.request, "", "reply:", found.reply])


@app.command()
def export(
    ctx: typer.Context,
    output: OutputOption = None,
    best: BestOption = False,
    poor: PoorOption = False,
    limit: LimitOption = MAX_LIMIT,
    as_json: IgnoredJsonOption = False,
) -> None:
    """Write the trajectories as JSON lines, the newest first."""
    if best and poor:
        raise InputError("give one of --best and --poor")
    found = run_with_store(ctx.obj, lambda store: _read(store, best=best, poor=poor, limit=limit))
    write_json_lines([each.to_json() for each in found], output, what="trajectories")


async def _read(store: HostStore, *, best: bool, poor: bool, limit: int) -> Sequence[Trajectory]:
    order: TrajectoryOrder = "best" if best else "poorest" if poor else "newest"
    return await store.trajectories.list(
        order=order,
        limit=limit,
        at_least=GOOD_FROM if best else None,
        below=POOR_BELOW if poor else None,
    )


def _list_similar(options: GlobalOptions, text: str, limit: int, *, as_json: bool) -> None:
    settings = load_cli_settings(options)
    clock, prices = SystemClock(), settings.budget.default_price_pair
    embedder = create_cached_embedder(settings.embeddings, os.environ, clock, default_prices=prices)

    async def read(store: HostStore) -> Any:
        try:
            with metering(EmbeddingMeter(store.usage, settings.budget, clock)):
                return await find_similar(
                    store.trajectories,
                    store.vectors,
                    embedder,
                    text,
                    limit=limit,
                    most=MAX_KEPT,
                )
        finally:
            await embedder.aclose()

    found = run_with_store(options, read)
    if as_json:
        write_json([{**each.trajectory.to_json(), "similarity": round(each.similarity, 4)} for each in found])
    elif not found:
        write_lines([_describe_none(options, best=False, poor=False)])
    else:
        write_table(
            ("similarity#", *_HEADINGS), ([f"{each.similarity:.2f}", *_to_cells(each.trajectory)] for each in found)
        )


_HEADINGS = ("time (UTC)", "task", "type", "quality#", "feedback#", "model", "tier", "request")


def _to_cells(found: Trajectory) -> list[str]:
    said = "" if found.feedback is None else f"{found.feedback:+.1f}"
    request = " ".join(found.request[:80].split())
    return [
        *(format_time(found.at), found.run_id, found.task_type, _format_quality(found)),
        *(said, found.model, found.tier, request),
    ]


def _format_quality(found: Trajectory) -> str:
    return "" if found.quality is None else f"{found.quality:.2f}"


def _write_summary(found: Sequence[Trajectory]) -> None:
    facts = summarize(found)
    write_notice(
        f"{facts['count']} trajectories: {facts['good']} good, {facts['poor']} poor, {facts['rated']} rated by people; "
        + ("nothing was judged" if facts["quality"] is None else f"mean quality {facts['quality']:.2f}")
    )
    if facts["compared"]:
        write_notice(f"scorer and people agree on {facts['agreed']} of {facts['compared']} answers that both judged")
    if needs_evolution(count_poor(found), len(found)):
        write_notice("many are poor: look at `sophon trajectories list --poor`, and change the instructions")


def _describe_none(options: GlobalOptions, *, best: bool, poor: bool) -> str:
    if best or poor:
        return f"There are no {'good' if best else 'poor'} trajectories."
    if load_cli_settings(options).learning.enabled:
        return "There are no trajectories."
    return "There are no trajectories. Learning.Enabled: true keeps them in every chain."
