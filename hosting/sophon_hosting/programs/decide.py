"""`sophon decide`: what the rules before a model decide about a message."""

from collections.abc import Collection, Sequence
from typing import Annotated, Any

import typer

from sophon._python.lazy_dataclass import dataclass
from sophon.composition.part_factories import create_skill_catalog
from sophon.decisions import decide as decide_strategy
from sophon.decisions import is_low_intent
from sophon.decisions.fast_paths.families import FAMILIES, FastPathFamily
from sophon.decisions.fast_paths.fast_path_tools import OfferedTool, find_tool, fit_arguments
from sophon.decisions.fast_paths.fast_paths import find_family
from sophon.decisions.message_shortening import shorten_for_routing
from sophon.errors import SophonError
from sophon.plugins.installed_plugins import load_installed_tools
from sophon.plugins.tool_modules import tools_from_modules
from sophon.services import Services
from sophon.settings import Settings
from sophon_hosting.cli.bootstrap import load_cli_settings
from sophon_hosting.cli.common_options import HostUrlOption, JsonOption
from sophon_hosting.cli.console.output import write_json, write_lines, write_notice, write_rows
from sophon_hosting.cli.global_options import GlobalOptions
from sophon_hosting.cli.remote.host_selection import find_client
from sophon_hosting.features.mcp.settings import McpSettings
from sophon_hosting.features.registry import register_feature_tools
from sophon_hosting.features.tools.operations import list_tools
from sophon_hosting.host_chain import check_chain_name

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command()
def decide(
    ctx: typer.Context,
    text: Annotated[str | None, typer.Argument(metavar="TEXT", help="A message.")] = None,
    families: Annotated[bool, typer.Option("--families", help="List the families of fast paths.")] = False,
    url: HostUrlOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show strategy, matching families of patterns, parameters, and the tool call that would answer the message.

    Also whether the message says too little, so that the person is asked back.

    Which tools there are says the running host, or else the settings, which do not know the tools of MCP servers.
    """
    settings = load_cli_settings(ctx.obj)
    check_chain_name(settings)
    if not families and text is None:
        raise typer.BadParameter("give a message, or --families")
    if not settings.decisions.enabled and settings.chain.factory is None:
        write_notice(f"the chain {settings.chain.name} decides nothing by rules while Decisions.Enabled is false")
    tools, unknown = _list_tools(ctx.obj, settings, url)
    if families or text is None:
        _write_families(settings, tools, unknown, as_json=as_json)
        return
    decided, found = decide_strategy(text), find_family(text, settings.decisions.families)
    tool = None if found is None else find_tool(found[0], tools)
    arguments = None if found is None else found[1] if tool is None else fit_arguments(tool, found[1])
    name = None if found is None else found[0].tool if tool is None else tool.name
    if as_json:
        is_unknown = found is not None and tool is None and _may_be_of_server(found[0], unknown)
        available = None if is_unknown else tool is not None and arguments is not None
        call = {"tool": name, "arguments": arguments, "available": available}
        write_json(
            {
                "strategy": decided.strategy,
                "hits": decided.hits,
                "parameters": decided.parameters,
                "low_intent": is_low_intent(text),
                "fast_path": None if found is None else {"family": found[0].name, **call},
            }
        )
        return
    lines = [f"strategy: {decided.strategy}"]
    if decided.hits:
        lines.append("patterns: " + ", ".join(f"{name} ({count})" for name, count in decided.hits.items()))
    # A call that answers the message has its own times: the interval is for a model that makes a schedule.
    used = {name: value for name, value in decided.parameters.items() if found is None or name != "interval"}
    lines += [f"{name}: {value}" for name, value in used.items()]
    if (compact := shorten_for_routing(text)) != text.strip():
        lines.append(f"decided by: {compact}")
    if is_low_intent(text):
        lines.append("as a first message it says too little: the person is asked back")
    if found is not None:
        family = found[0]
        if tool is None:
            state = f"; {_explain_absence(family, settings, unknown)}"
        else:
            state = "" if arguments is not None else "; off: the tool takes no such arguments"
        shown = found[1] if arguments is None else arguments
        lines.append(f"fast path: {family.name}, {name} {dict(shown)}{state}")
    write_lines(lines)


@dataclass(frozen=True, slots=True)
class HostTool:
    """A tool of a running host."""

    name: str
    tags: Sequence[str]
    parameters: dict[str, Any]


def _list_tools(
    options: GlobalOptions, settings: Settings, url: str | None
) -> tuple[Sequence[OfferedTool], Collection[str]]:
    """Return the tools of the running host, or those that a host with these settings begins with, and the ids of the
    MCP servers whose tools are not among them.
    """
    try:
        if (client := find_client(options, url)) is not None:
            found = client.call(list_tools)["items"]
            return [HostTool(each["name"], each["tags"], each["parameters"]) for each in found], ()
    except SophonError as error:
        if url is not None:
            raise
        write_notice(f"the running host cannot be asked for its tools: {error}")
    folder = options.settings_folder
    own = [*tools_from_modules(settings.tools.modules, folder=folder), *load_installed_tools()]
    services = Services.for_inspection(settings, folder=folder, tools=own)
    register_feature_tools(services)
    tools: list[OfferedTool] = [*services.registry]
    skills = create_skill_catalog(settings, folder)
    if skills is not None and skills.read().enabled:
        from sophon.builtin_tools.skills import skill_tools  # lazy: most hosts have no skills

        tools += [each for each in skill_tools() if each.name not in settings.tools.disabled]
    servers = [each.id for each in settings.section(McpSettings).servers if each.enabled]
    if servers:
        write_notice(f"the tools of the MCP servers {', '.join(servers)} are known to a running host only")
    return tools, servers


def _write_families(
    settings: Settings, tools: Sequence[OfferedTool], unknown: Collection[str], *, as_json: bool
) -> None:
    """List the families with their tools; one that nothing answers, or where the settings disable them all, is off."""
    paths = settings.decisions.fast_paths
    used = {each.name: each for each in settings.decisions.families}
    known = [*((each.name, each.tool) for each in paths.added), *((each.name, each.tool) for each in FAMILIES)]
    rows: list[tuple[str, str, str]] = []
    for name, wanted in known:
        family = used.get(name)
        tool = None if family is None else find_tool(family, tools)
        if tool is not None:
            state = "on"
        else:
            state = "off: disabled" if family is None else _explain_absence(family, settings, unknown)
        rows.append((name, wanted if tool is None else tool.name, state))
    found = [{"family": name, "tool": tool, "state": state} for name, tool, state in rows]
    write_rows(found, ("family", "tool", "state"), rows, "There are no families.", as_json=as_json)


def _may_be_of_server(family: FastPathFamily, unknown: Collection[str]) -> bool:
    """Return whether a tool of these MCP servers may answer: it is called `id.tool`, and tagged with the id."""
    return family.tool.partition(".")[0] in unknown or family.tag in unknown


def _explain_absence(family: FastPathFamily, settings: Settings, unknown: Collection[str]) -> str:
    """Return why nothing answers a family."""
    if family.tool in settings.tools.disabled:
        return "off: Tools.Disabled names the tool"
    if _may_be_of_server(family, unknown):
        return "unknown: a tool of an MCP server may answer, which a running host knows"
    if family.tool.startswith("schedules."):
        return "off: Schedules.Enabled is false"
    if family.tool == "skills.list":
        return "off: no skill is enabled"
    return "off: no such tool" + (f", and none is tagged {family.tag}" if family.tag else "")
