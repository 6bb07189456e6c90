"""`sophon policy`: show what is allowed, and try a tool call against the security rules, without running it."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from sophon.errors import InputError
from sophon.plugins.installed_plugins import load_installed_tools
from sophon.plugins.tool_modules import tools_from_modules
from sophon.principals import LOCAL_USER
from sophon.security.policy import Policy
from sophon.security.policy.policy_file import PolicyError
from sophon.security.rule_assessment import Assessment
from sophon.services import Services
from sophon.settings import Settings
from sophon_hosting.cli.bootstrap import load_cli_settings
from sophon_hosting.cli.common_options import JsonOption, command_group
from sophon_hosting.cli.console.output import write_json, write_lines, write_table
from sophon_hosting.cli.global_options import GlobalOptions
from sophon_hosting.client_api.authentication.token_authentication import find_operators
from sophon_hosting.features.guards.call_trial import CallTrial, try_call
from sophon_hosting.features.guards.policy_overview import (
    ACCESS_TEXTS,
    describe_access,
    describe_policy,
    find_access,
    levels_table,
    policy_table,
)
from sophon_hosting.features.registry import register_feature_tools
from sophon_hosting.host_chain import build_configured_chain
from sophon_hosting.settings.hub import HubSettings
from sophon_middlewares.guards.guard_description import describe_guards, format_guards

NOT_ENFORCED = "  (not enforced: no enabled guard applies it)"

app = command_group("Show what is allowed, and try a tool call against the security rules.", no_args_is_help=True)


@app.command()
def show(ctx: typer.Context, as_json: JsonOption = False) -> None:
    """Show the guards, what happens to calls of each tool, the permission levels, and the rules of the policy."""
    options: GlobalOptions = ctx.obj
    services = _create_services(load_cli_settings(options), options.settings_folder)
    chain, operators = build_configured_chain(services), find_operators(services.settings.section(HubSettings))
    if as_json:
        write_json(describe_policy(services, chain, LOCAL_USER, is_operator=True, operators=operators))
        return
    write_lines(["Guards", *format_guards(describe_guards(chain, services)), "", "Tools"])
    access = [
        (each.name, each.risk.label, ACCESS_TEXTS[find_access(services, each.risk, LOCAL_USER)])
        for each in services.registry
    ]
    write_table(("tool", "risk", "a call"), access)
    for table in (levels_table(services.settings, operators), policy_table(services.security.load_policy())):
        write_lines(["", table.title])
        write_table(tuple(table.columns), [list(row) for row in table.rows])


@app.command("test")
def judge(
    ctx: typer.Context,
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="Name of a tool or action type, such as files.write.")],
    arguments: Annotated[str, typer.Argument(metavar="JSON", help="The arguments of the call, a JSON object.")],
    file: Annotated[
        Path | None, typer.Option("--policy", metavar="FILE", help="A policy instead of the configured one.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Print what protection, policy, heuristics, classifier and risk say about a call: verdict, tier and rule.

    Also whether an enabled guard applies each, and what the risk of the tool leads to. Nothing runs.
    """
    options: GlobalOptions = ctx.obj
    settings = load_cli_settings(options)
    trial = asyncio.run(
        try_call(
            tool,
            parse_arguments(arguments),
            settings=settings,
            folder=options.settings_folder,
            policy=load_policy(file) if file is not None else None,
        )
    )
    access = describe_access(_create_services(settings, options.settings_folder), tool, LOCAL_USER)
    if as_json:
        write_json({**trial.to_json(), **access})
    else:
        verdict = f"verdict     {_describe(trial.strictest)}"
        write_lines([verdict, *_assessment_lines(trial), f"tool        {_describe_access(access)}"])


def parse_arguments(text: str) -> Mapping[str, Any]:
    """Return the arguments of a call. Raises InputError."""
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"the arguments are not valid JSON: {error}") from error
    if not isinstance(value, dict):
        raise InputError('the arguments must be a JSON object, such as {"path": "notes.txt"}')
    return value  # pyright: ignore[reportUnknownVariableType] - JSON


def load_policy(file: Path) -> Policy:
    """Return the policy of a file. Raises InputError."""
    try:
        return Policy.load(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"the policy {str(file)!r} cannot be read: {reason}") from error
    except PolicyError as error:
        raise InputError(f"{file}: {error}") from error


def _create_services(settings: Settings, folder: Path) -> Services:
    """Return services with the tools of the host; showing what is allowed needs no model, key or store."""
    tools = [*tools_from_modules(settings.tools.modules, folder=folder), *load_installed_tools()]
    services = Services.for_inspection(settings, folder=folder, tools=tools)
    register_feature_tools(services)
    return services


def _describe_access(access: Mapping[str, Any]) -> str:
    if access["access"] is None:
        return f"there is no tool {access['tool']!r}: judged as an action type"
    return f"{access['risk']} risk: {ACCESS_TEXTS[access['access']]}, unless a guard decides otherwise"


def _assessment_lines(trial: CallTrial) -> list[str]:
    return [
        f"{each.source:<11} {_describe(each)}{'' if each.source in trial.enforced else NOT_ENFORCED}"
        for each in trial.assessments
    ]


def _describe(assessment: Assessment) -> str:
    rule = f": {assessment.rule}" if assessment.rule else ""
    return f"{assessment.verdict} (tier {assessment.tier}){rule}"
