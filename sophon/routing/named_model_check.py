"""Check of the models that the settings of routing name."""

from collections.abc import Iterator, Sequence

from sophon.models.gateway.provider import Provider
from sophon.routing.strategies.static import split_model_name
from sophon.settings.sections.routing import RoutingSettings
from sophon.settings.validation_errors import suggest_nearest


def find_unknown_models(settings: RoutingSettings, providers: Sequence[Provider]) -> list[str]:
    """Return a problem for each name that is no model of a provider, none of its own, no provider and no alias."""
    known = {provider.id for provider in providers}
    for provider in providers:
        for model in provider.models:
            known |= {model.info.name, f"{provider.id}/{model.info.name}"}
    known_or_alias = known | set(settings.aliases)
    problems: list[str] = []
    for path, name in _list_names(settings):
        allowed = known if path.startswith("Aliases.") else known_or_alias
        if name not in allowed and split_model_name(name, settings.default_provider) not in allowed:
            problems.append(f"Routing.{path}: there is no model {name!r}{suggest_nearest(name, allowed)}")
    return problems


def _list_names(settings: RoutingSettings) -> Iterator[tuple[str, str]]:
    for index, tier in enumerate(settings.tiers):
        for number, name in enumerate(tier.models):
            yield f"Tiers[{index}].Models[{number}]", name
    for alias, name in settings.aliases.items():
        yield f"Aliases.{alias}", name
    for kind, entry in settings.task_types.items():
        if entry.model is not None:
            yield f"TaskTypes.{kind}.Model", entry.model
    if settings.model is not None:
        yield "Model", settings.model
    if settings.fallback_model is not None:
        yield "FallbackModel", settings.fallback_model
