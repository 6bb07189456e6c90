"""`sophon decide`: what the rules before a model decide about a message."""

from typing import Annotated

import typer

from sophon.decisions import decide as decide_strategy
from sophon.decisions import is_low_intent
from sophon.decisions.compaction import compact_for_routing
from sophon.decisions.fast_path_families import FAMILIES
from sophon.decisions.fast_paths import find_family
from sophon.services import Services
from sophon.settings import Settings
from sophon.tools.registry import ToolRegistry
from sophon_hosting.cli.bootstrap import load_cli_settings
from sophon_hosting.cli.common_options import JsonOption
from sophon_hosting.cli.console.output import write_json, write_lines, write_table
from sophon_hosting.cli.global_options import GlobalOptions
from sophon_hosting.schedules.factory import register_schedule_tools

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command()
def decide(
    ctx: typer.Context,
    text: Annotated[str | None, typer.Argument(metavar="TEXT", help="A message.")] = None,
    families: Annotated[bool, typer.Option("--families", help="List the families of fast paths.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show strategy, matching families of patterns, parameters, and the tool call that would answer the message."""
    options: GlobalOptions = ctx.obj
    settings = load_cli_settings(options)
    services = Services.for_inspection(settings, folder=options.settings_folder)
    register_schedule_tools(services)
    registry, rules = services.registry, settings.decisions.rules
    if families:
        _write_families(settings, registry, as_json=as_json)
        return
    if text is None:
        raise typer.BadParameter("give a message, or --families")
    decided, found = decide_strategy(text, rules), find_family(text, rules)
    if as_json:
        write_json(
            {
                "strategy": decided.strategy,
                "hits": decided.hits,
                "parameters": decided.parameters,
                "low_intent": is_low_intent(text),
                "fast_path": None
                if found is None
                else {
                    "family": found[0].name,
                    "tool": found[0].tool,
                    "arguments": found[1],
                    "available": found[0].tool in registry,
                },
            }
        )
        return
    lines = [f"strategy: {decided.strategy}"]
    if decided.hits:
        lines.append("patterns: " + ", ".join(f"{name} ({count})" for name, count in decided.hits.items()))
    lines += [f"{name}: {value}" for name, value in decided.parameters.items()]
    if (compact := compact_for_routing(text, rules.table)) != text.strip():
        lines.append(f"decided by: {compact}")
    if is_low_intent(text):
        lines.append("as a first message it says too little: the person is asked back")
    if found is not None:
        family, arguments = found
        lacks = "" if family.tool in registry else f"; off: there is no tool {family.tool}"
        lines.append(f"fast path: {family.name}, {family.tool} {dict(arguments)}{lacks}")
    write_lines(lines)


def _write_families(settings: Settings, registry: ToolRegistry, *, as_json: bool) -> None:
    """List the families with their tools; one whose tool is absent, or that the settings disable, is off."""
    paths = settings.decisions.fast_paths
    used = {each.name for each in settings.decisions.rules.families}
    known = [*((each.name, each.tool) for each in paths.added), *((each.name, each.tool) for each in FAMILIES)]
    rows = [(name, tool, _state(name in used, tool in registry)) for name, tool in known]
    if as_json:
        write_json([{"family": name, "tool": tool, "state": state} for name, tool, state in rows])
    else:
        write_table(("family", "tool", "state"), rows)


def _state(is_used: bool, has_tool: bool) -> str:
    if not is_used:
        return "off: disabled"
    return "on" if has_tool else "off: no such tool"
