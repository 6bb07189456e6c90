"""`sophon tools`: the tools of the settings, and which of them a person may use."""

from typing import Annotated

import typer

from sophon.principals import LOCAL_USER
from sophon.services import Services
from sophon.settings import Settings
from sophon.tools.tool import Tool
from sophon.turn_permissions import build_tool_permissions
from sophon_hosting.cli.bootstrap import create_services, load_cli_settings
from sophon_hosting.cli.common_options import JsonOption
from sophon_hosting.cli.console.output import write_json, write_lines, write_notice, write_table
from sophon_hosting.client_api.authentication import find_operators

app = typer.Typer(rich_markup_mode=None, add_completion=False)

HELP = "A principal, such as ada or telegram:5."


@app.callback(invoke_without_command=True)
def tools(
    ctx: typer.Context,
    user: Annotated[str, typer.Option("--user", metavar="PRINCIPAL", help=HELP)] = LOCAL_USER,
    channel: Annotated[str, typer.Option("--channel", help="Channel of the messages: hub, local, telegram.")] = "hub",
    chat: Annotated[str, typer.Option("--chat", metavar="PRINCIPAL", help="A group, as telegram:chat:-100.")] = "",
    as_json: JsonOption = False,
) -> None:
    """List the tools that a person may use now, with their risk, and how many are hidden from them."""
    settings = load_cli_settings(ctx.obj)
    services = create_services(ctx.obj, settings)
    level = settings.permissions.level_of(user, channel=channel, chat=chat, is_operator=is_operator(settings, user))
    shown = list(services.registry)
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
    return principal in find_operators(settings.hub)


def _count(services: Services) -> str:
    count = len(services.registry)
    return "1 tool" if count == 1 else f"{count} tools"


def _to_json(tool: Tool) -> dict[str, str]:
    return {"name": tool.name, "risk": tool.risk.label, "group": tool.group, "description": tool.description}


def _row(tool: Tool) -> list[str]:
    return [tool.name, tool.risk.label, tool.group, tool.description.split("\n", 1)[0]]
