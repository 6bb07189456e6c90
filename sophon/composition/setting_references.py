"""Checks of the names in settings: a tool, model or provider that does not exist is a problem, with its path."""

from collections.abc import Iterable, Iterator, Sequence

from sophon.builtin_tools import builtin_tools
from sophon.composition.later_tools import CUSTOM_TOOL_PREFIX, LATER_TOOLS
from sophon.models.gateway.provider import Provider
from sophon.models.providers.defaults import PROVIDER_DEFAULTS
from sophon.models.providers.provider_types import OFFLINE, OLLAMA
from sophon.security.authorization.permission_levels import Level
from sophon.settings import Settings
from sophon.settings.sections.authorization import TOOL_RESOURCE
from sophon.settings.sections.budget import EVERY_PROVIDER
from sophon.settings.validation_errors import suggest_nearest
from sophon.tools.tool import Tool


def find_taken_tool_prefixes(settings: Settings, added: Iterable[Tool]) -> list[str]:
    """Return a problem for each prefix of later tools with which others begin: a rule for those would be for both.

    Also like those that are off, or that only a host has: they may be switched on later.
    """
    names = (*(tool.name for tool in (*added, *builtin_tools())), *LATER_TOOLS, CUSTOM_TOOL_PREFIX)
    taken = {name.partition(".")[0] for name in names}
    return [
        f"{path}: names of other tools begin with '{prefix}.' already"
        for path, prefix in settings.list_tool_prefixes()
        if prefix in taken
    ]


def find_unknown_tools(settings: Settings, added: Iterable[Tool]) -> list[str]:
    """Return a problem for each tool in the settings that is neither `added`, nor built in, nor registered later.

    A rule about such a tool denies nothing. Beginnings of names and globs may be about tools that come later, and so
    may names with a prefix of such tools, as that of an MCP server which is not connected yet.
    """
    known = {*LATER_TOOLS, *(tool.name for tool in (*added, *builtin_tools()))}
    later = tuple(f"{prefix}." for _, prefix in settings.list_tool_prefixes())
    return [
        f"{path}: there is no tool {name!r}{suggest_nearest(name, known)}"
        for path, name in _list_named_tools(settings)
        if name not in known and not name.startswith(later)
    ]


def _list_named_tools(settings: Settings) -> Iterator[tuple[str, str]]:
    """Yield the path and the name of each tool that the settings name."""
    guards, levels = settings.guards, settings.permissions.levels
    yield from ((f"Tools.Disabled[{index}]", name) for index, name in enumerate(settings.tools.disabled))
    yield from ((f"Guards.RateLimit.Tools.{name}", name) for name in guards.rate_limit.tools)
    for index, rule in enumerate(guards.authorization.rules):
        if not rule.resource.endswith("*"):
            yield f"Guards.Authorization.Rules[{index}].Resource", rule.resource.removeprefix(TOOL_RESOURCE)
    permitted = [
        (f"Permissions.Levels.{level.label}.Tools[{index}]", name)
        for level in Level
        for index, name in enumerate(levels.entry(level).tools or ())
    ]
    permitted += [(f"Guards.InformationFlow.Sinks.{name}", name) for name in guards.information_flow.sinks]
    yield from ((path, name) for path, name in permitted if not any(mark in name for mark in "*?[{"))


def find_unknown_evaluator(settings: Settings, providers: Sequence[Provider]) -> list[str]:
    """Return a problem for an evaluator of Shield that is no model of the providers: every evaluation would fail."""
    shield = settings.guards.shield
    is_used = shield.enabled and shield.has_evaluator
    return _find_unknown_model("Guards.Shield.EvaluatorModel", shield.evaluator_model if is_used else None, providers)


def find_unknown_answer_evaluator(settings: Settings, providers: Sequence[Provider]) -> list[str]:
    """Return a problem for a model that is to judge answers and is none of the providers."""
    name = settings.learning.evaluator.model if settings.learning.scorer == "Evaluator" else None
    return _find_unknown_model("Learning.Evaluator.Model", name, providers)


def _find_unknown_model(path: str, name: str | None, providers: Sequence[Provider]) -> list[str]:
    """Return a problem for a name by which the gateway finds no model of the providers."""
    models = [(provider.id, model.info.name) for provider in providers for model in provider.models]
    known = {each for provider, model in models for each in (provider, model, f"{provider}/{model}")}
    return (
        [] if name is None or name in known else [f"{path}: there is no model {name!r}{suggest_nearest(name, known)}"]
    )


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
