"""`sophon tools`: the tools of the settings, and which of them a person may use."""

import re
from typing import Annotated

import typer

from sophon.builtin_tools.custom_tool_management import refresh_custom_tools
from sophon.principals import LOCAL_USER
from sophon.services import Services
from sophon.settings import Settings
from sophon.skills.custom_tools import CustomTool
from sophon.tools.tool import Tool
from sophon.turn.permissions import build_tool_permissions
from sophon_hosting.cli.bootstrap import create_services, load_cli_settings
from sophon_hosting.cli.common_options import JsonOption
from sophon_hosting.cli.console.output import fact_lines, write_json, write_lines, write_notice, write_table
from sophon_hosting.cli.global_options import GlobalOptions
from sophon_hosting.cli.remote.host_selection import open_client_silently
from sophon_hosting.client_api.authentication.token_authentication import find_operators
from sophon_hosting.features.registry import register_feature_tools
from sophon_hosting.features.tools import custom_tool_operations as custom_tools
from sophon_hosting.features.tools.custom_tool_operations import open_custom_tools
from sophon_hosting.features.tools.results import custom_tool_to_json
from sophon_hosting.settings.hub import HubSettings

app = typer.Typer(rich_markup_mode=None, add_completion=False)

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Name of a custom tool.")]

SHOWN = ("name", "description", "risk", "enabled", "shared", "owner", "created_at", "sources", "folder", "problem")
"""Facts that `show` writes in front of the program."""

UserOption = Annotated[str, typer.Option("--user", metavar="PRINCIPAL", help="A principal, such as ada or telegram:5.")]
ChannelOption = Annotated[
    str, typer.Option("--channel", metavar="CHANNEL", help="Channel of the messages: hub, local, telegram.")
]
ChatOption = Annotated[str, typer.Option("--chat", metavar="PRINCIPAL", help="A group, as telegram:chat:-100.")]


@app.callback(invoke_without_command=True)
def tools(
    ctx: typer.Context,
    user: UserOption = LOCAL_USER,
    channel: ChannelOption = "hub",
    chat: ChatOption = "",
    as_json: JsonOption = False,
) -> None:
    """List the tools that a person may use now, with their risk; show, switch, share and delete custom tools."""
    if ctx.invoked_subcommand is None:
        _list_tools(ctx, user, channel, chat, as_json=as_json)


@app.command("list")
def list_tools(
    ctx: typer.Context,
    user: UserOption = LOCAL_USER,
    channel: ChannelOption = "hub",
    chat: ChatOption = "",
    as_json: JsonOption = False,
) -> None:
    """List the tools that a person may use now, and how many are hidden from them; problems of custom tools."""
    _list_tools(ctx, user, channel, chat, as_json=as_json)


@app.command()
def show(ctx: typer.Context, name: NameArgument, as_json: JsonOption = False) -> None:
    """Show a custom tool with its whole program."""
    tool = open_custom_tools(load_cli_settings(ctx.obj), ctx.obj.settings_folder).find_any(name, None)
    facts: dict[str, object] = {**custom_tool_to_json(tool)}
    if isinstance(tool, CustomTool):
        facts["program"] = tool.source
    if as_json:
        write_json(facts)
        return
    write_lines(fact_lines({label.replace("_", " "): _plain(facts[label]) for label in SHOWN if label in facts}))
    if "program" in facts:
        write_lines(["", str(facts["program"])])


@app.command()
def enable(ctx: typer.Context, name: NameArgument) -> None:
    """Switch a custom tool on."""
    write_lines([f"{_change(ctx.obj, name, enabled=True)} is on from the next turn."])


@app.command()
def disable(ctx: typer.Context, name: NameArgument) -> None:
    """Switch a custom tool off; it stays installed."""
    write_lines([f"{_change(ctx.obj, name, enabled=False)} is off from the next turn."])


@app.command()
def share(
    ctx: typer.Context,
    name: NameArgument,
    undo: Annotated[bool, typer.Option("--undo", help="Give it back to its user alone.")] = False,
) -> None:
    """Give a custom tool to all users; read its program before."""
    full_name = _change(ctx.obj, name, shared=not undo)
    write_lines([f"{full_name} is for {'its user only' if undo else 'all users'} from the next turn."])


@app.command()
def delete(ctx: typer.Context, name: NameArgument) -> None:
    """Delete a custom tool with its program."""
    deleted = open_client_silently(ctx.obj).call(custom_tools.delete_custom_tool, name=name)
    write_lines([f"{deleted['name']} was deleted."])


def _change(options: GlobalOptions, name: str, *, enabled: bool | None = None, shared: bool | None = None) -> str:
    """Change a tool and return its full name."""
    client = open_client_silently(options)
    return client.call(custom_tools.change_custom_tool, name=name, enabled=enabled, shared=shared)["name"]


def _plain(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] - texts


def _list_tools(ctx: typer.Context, user: str, channel: str, chat: str, *, as_json: bool) -> None:
    settings = load_cli_settings(ctx.obj)
    services = create_services(ctx.obj, settings)
    register_feature_tools(services)
    level = settings.permissions.level_of(user, channel=channel, chat=chat, is_operator=is_operator(settings, user))
    store = services.assistant.custom_tools
    if store is not None:
        refresh_custom_tools(services.toolbox, store, settings.tools.disabled)
        for problem in store.read().problems:
            write_notice(str(problem))
    shown = [each for each in services.registry if each.owner in (None, user)]
    if settings.guards.authorization.enabled:
        permissions = build_tool_permissions(
            settings, user, level=level, at=services.clock.now(), channel=channel, chat=chat
        )
        shown = permissions.filter(shown)
    hidden = len(services.registry) - len(shown)
    if as_json:
        write_json({"user": user, "level": level.label, "items": [_to_json(each) for each in shown], "hidden": hidden})
        return
    write_table(("tool", "risk", "group", "what it does"), [_row(each) for each in shown])
    write_lines(["", f"{user} has the level {level.label} and may use {len(shown)} of {_count(services)}."])
    if not settings.guards.authorization.enabled:
        write_notice("Guards.Authorization is off: levels and rules hide no tool")


def is_operator(settings: Settings, principal: str) -> bool:
    """Return whether the settings make a principal an operator; without users it is the local one."""
    return principal in find_operators(settings.section(HubSettings))


def _count(services: Services) -> str:
    count = len(services.registry)
    return "1 tool" if count == 1 else f"{count} tools"


def _to_json(tool: Tool) -> dict[str, str]:
    return {"name": tool.name, "risk": tool.risk.label, "group": tool.group, "description": tool.description}


def _row(tool: Tool) -> list[str]:
    return [tool.name, tool.risk.label, tool.group, _first_sentence(tool.description)]


def _first_sentence(description: str) -> str:
    """Return the first sentence of a description, whatever lines it has, or its first paragraph."""
    paragraph = " ".join(description.strip().split("\n\n", 1)[0].split())
    return re.split(r"(?<=\.) (?=[A-Z])", paragraph, maxsplit=1)[0]
