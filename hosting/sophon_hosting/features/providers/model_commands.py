"""`sophon models`: the models of the settings, with context window, prices and capabilities."""

from collections.abc import Mapping
from typing import Any

import typer

from sophon.models.model import ModelInfo
from sophon_hosting.cli.bootstrap import create_services, load_cli_settings
from sophon_hosting.cli.common_options import JsonOption
from sophon_hosting.cli.console.output import write_json, write_lines, write_table

app = typer.Typer(rich_markup_mode=None, add_completion=False)

HEADINGS = ("model", "context#", "input $/M#", "output $/M#", "tools", "runs", "can")


@app.command()
def models(ctx: typer.Context, as_json: JsonOption = False) -> None:
    """List the models of the settings by the priority of their providers; nothing is asked of a provider.

    With context window, prices in USD per million tokens, tool calls and capabilities.
    """
    settings = load_cli_settings(ctx.obj)
    providers = create_services(ctx.obj, settings).gateway.providers
    found = [info for each in providers for info in each.model_infos()]
    if as_json:
        write_json([_to_json(each) for each in found])
        return
    write_table(HEADINGS, [_to_cells(each) for each in found])
    write_lines(["", f"Without a choice the first one answers: {found[0].id}. Choose with --model or Routing."])


def _to_json(info: ModelInfo) -> Mapping[str, Any]:
    return {
        "model": info.id,
        "context_window": info.context_window,
        "max_output_tokens": info.max_output_tokens,
        "prices": None if info.prices is None else list(info.prices),
        "function_calling": info.function_calling,
        "streaming": info.streaming,
        "hosting": info.hosting,
        "capabilities": sorted(info.capabilities),
    }


def _to_cells(info: ModelInfo) -> list[str]:
    unknown = "unknown" if info.is_cost_unknown else "free"
    prices = (unknown, unknown) if info.prices is None else tuple(f"{each:,.2f}" for each in info.prices)
    return [
        info.id,
        f"{info.context_window:,}",
        *prices,
        "yes" if info.function_calling else "by prompt",
        info.hosting,
        ", ".join(sorted(info.capabilities)),
    ]
