"""Checks of the names in settings: a tool, model or provider that does not exist is a problem, with its path."""

from collections.abc import Iterable, Sequence

from sophon.builtin_tools import builtin_tools
from sophon.later_tools import CUSTOM_TOOL_PREFIX, LATER_TOOLS
from sophon.models.gateway.provider import Provider
from sophon.models.model import Model
from sophon.models.providers.defaults import PROVIDER_DEFAULTS
from sophon.models.providers.provider_types import OFFLINE, OLLAMA
from sophon.security.permission_levels import Level
from sophon.settings import Settings
from sophon.settings.sections.budget import EVERY_PROVIDER
from sophon.settings.sections.guards.authorization import TOOL_RESOURCE
from sophon.settings.validation_errors import suggest_nearest
from sophon.tools.tool import Tool


def find_mcp_tool_names(settings: Settings) -> list[str]:
    """Return the names in the settings that could be those of tools of MCP servers, which are not connected yet."""
    beginnings = tuple(f"{server.id}." for server in settings.mcp.servers)
    if not beginnings:
        return []
    named = [
        *settings.tools.disabled,
        *settings.guards.rate_limit.tools,
        *(rule.resource.removeprefix(TOOL_RESOURCE) for rule in settings.guards.authorization.rules),
        *(name for level in Level for name in settings.permissions.levels.entry(level).tools or ()),
        *settings.guards.information_flow.sinks,
    ]
    return [name for name in named if name.startswith(beginnings)]


def find_taken_server_ids(settings: Settings, added: Iterable[Tool]) -> list[str]:
    """Return a problem for each MCP server whose tools would begin like others: a rule for those would be for both.

    Also like those that are off, or that only a host has: they may be switched on later.
    """
    names = (*(tool.name for tool in (*added, *builtin_tools())), *LATER_TOOLS, CUSTOM_TOOL_PREFIX)
    taken = {name.partition(".")[0] for name in names}
    return [
        f"Mcp.Servers[{index}].Id: names of other tools begin with '{server.id}.' already"
        for index, server in enumerate(settings.mcp.servers)
        if server.id in taken
    ]


def find_unknown_disabled(settings: Settings, added: Iterable[str]) -> list[str]:
    """Return a problem for each name in Tools.Disabled that is neither one of `added` nor of a built-in tool."""
    known = {*added, *(tool.name for tool in builtin_tools())}
    return [
        f"Tools.Disabled[{index}]: there is no tool {name!r}{suggest_nearest(name, known)}"
        for index, name in enumerate(settings.tools.disabled)
        if name not in known
    ]


def find_unknown_limited(settings: Settings, added: Iterable[str]) -> list[str]:
    """Return a problem for each tool of Guards.RateLimit that is neither one of `added` nor built in."""
    known = {*added, *(tool.name for tool in builtin_tools())}
    return [
        f"Guards.RateLimit.Tools.{name}: there is no tool {name!r}{suggest_nearest(name, known)}"
        for name in settings.guards.rate_limit.tools
        if name not in known
    ]


def find_unknown_ruled(settings: Settings, added: Iterable[str]) -> list[str]:
    """Return a problem for each rule of Guards.Authorization about one tool that is neither of `added` nor built in.

    Such a rule denies nothing. A beginning of names, such as `tool:crm.*`, may be about tools that come later.
    """
    known = {*added, *(tool.name for tool in builtin_tools())}
    named = [(index, rule.resource) for index, rule in enumerate(settings.guards.authorization.rules)]
    return [
        f"Guards.Authorization.Rules[{index}].Resource: there is no tool {name!r}{suggest_nearest(name, known)}"
        for index, resource in named
        if (name := resource.removeprefix(TOOL_RESOURCE)) not in known and not resource.endswith("*")
    ]


def find_unknown_permitted(settings: Settings, added: Iterable[str]) -> list[str]:
    """Return a problem for each tool of a permission level or a sink that is neither one of `added` nor built in.

    Beginnings of names and globs may be about tools that come later.
    """
    known = {*added, *(tool.name for tool in builtin_tools())}
    levels = settings.permissions.levels
    named = [
        (f"Permissions.Levels.{level.label}.Tools[{index}]", name)
        for level in Level
        for index, name in enumerate(levels.entry(level).tools or ())
    ]
    named += [(f"Guards.InformationFlow.Sinks.{name}", name) for name in settings.guards.information_flow.sinks]
    return [
        f"{path}: there is no tool {name!r}{suggest_nearest(name, known)}"
        for path, name in named
        if name not in known and not any(mark in name for mark in "*?[{")
    ]


def find_unknown_evaluator(settings: Settings, providers: Sequence[Provider]) -> list[str]:
    """Return a problem for an evaluator of Shield that is no model of the providers: every evaluation would fail."""
    shield = settings.guards.shield
    name = shield.evaluator_model
    if name is None or not (shield.enabled and shield.has_evaluator):
        return []
    known = {each for provider in providers for model in provider.models for each in _model_names(provider, model)}
    if name in known:
        return []
    return [f"Guards.Shield.EvaluatorModel: there is no model {name!r}{suggest_nearest(name, known)}"]


def _model_names(provider: Provider, model: Model) -> tuple[str, str, str]:
    """Return the names by which the gateway finds a model."""
    return provider.id, model.info.name, f"{provider.id}/{model.info.name}"


def find_unknown_budgets(settings: Settings, created: Sequence[str]) -> list[str]:
    """Return a problem for each provider in Budget.Providers that is neither `created`, nor that of the embedding
    model, nor could be discovered.

    With Providers in the settings their own validation compares the ids.
    """
    if settings.providers:
        return []
    known = {EVERY_PROVIDER, OFFLINE, OLLAMA, *created, *(each.id for each in PROVIDER_DEFAULTS)}
    known |= {*filter(None, [settings.embeddings.provider_id])}
    return [
        f"Budget.Providers.{name}: there is no provider with this Id{suggest_nearest(name, known)}"
        for name in settings.budget.providers
        if name not in known
    ]
