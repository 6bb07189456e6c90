"""The features of a host: those of this package, in the order of the documentation, and installed ones."""

from collections.abc import Iterable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from sophon.entry_points import describe_entry_point, find_entry_points, load_entry_point
from sophon.errors import SettingsError
from sophon.extras import describe_missing_package
from sophon_hosting.features import FEATURES, FEATURES_GROUP
from sophon_hosting.features.feature import Feature

if TYPE_CHECKING:
    from aiohttp import web

    from sophon.chain.pipeline import Middleware
    from sophon.events import Event
    from sophon.services import Services
    from sophon.tools.tool import Tool
    from sophon_hosting.background_loops import CreateLoops
    from sophon_hosting.channels.outbound.chat_notices import ChatNotice
    from sophon_hosting.features.person_export_items import PersonData
    from sophon_hosting.host import Host
    from sophon_hosting.operations.table import Registry
    from sophon_hosting.retention import Sweep


@cache
def load_builtin_features() -> tuple[Feature, ...]:
    """Return the features of this package, in the order of the documentation; their events are known then."""
    features = tuple(import_module(f"sophon_hosting.features.{name}.feature").FEATURE for name in FEATURES)
    load_event_types(features)
    return features


@cache
def load_features() -> tuple[Feature, ...]:
    """Return the features of this package, and behind them the installed ones, by the names of their entry points.

    Loaded once; `sophon.events` knows the events of all of them then. Raises SettingsError for an entry point that
    cannot be loaded, is no Feature or has the name of another one, and for an event that cannot be loaded.
    """
    builtin, installed = load_builtin_features(), list[Feature]()
    for name, entry in sorted(find_entry_points(FEATURES_GROUP).items()):
        found = load_entry_point(entry)
        if not isinstance(found, Feature):
            raise SettingsError([f"the entry point {name!r} in {FEATURES_GROUP} is no Feature"])
        if any(each.name == found.name for each in (*builtin, *installed)):
            raise SettingsError([f"{describe_entry_point(entry)}: there is a feature {found.name!r} already"])
        installed.append(found)
    load_event_types(installed)
    return (*builtin, *installed)


def load_event_types(features: Iterable[Feature]) -> "list[type[Event]]":
    """Return the classes of the events of features, importing them, which makes them known by their names.

    Raises SettingsError.
    """
    return [load_object(each, path) for each in features for path in each.events]


def load_object(feature: Feature, path: str) -> Any:
    """Return what a feature names by `module:name`, importing the module. Raises SettingsError that names both."""
    module, _, name = path.partition(":")
    try:
        return getattr(import_module(module), name)
    except Exception as error:
        reason = describe_missing_package(error) or f"{type(error).__name__}: {error}"
        raise SettingsError([f"the feature {feature.name!r}: {path} cannot be loaded: {reason}"]) from error


@cache
def load_operations() -> "Registry":
    """Return the operations of all features. Raises SettingsError, CompositionError."""
    return build_registry(load_features())


@cache
def builtin_operations() -> "Registry":
    """Return the operations of the features of this package, of which the documentation is generated."""
    return build_registry(load_builtin_features())


def build_registry(features: Iterable[Feature]) -> "Registry":
    """Return the operations of features, in their order. Raises SettingsError, CompositionError."""
    from sophon_hosting.operations.table import (
        Registry,  # lazy: whoever opens a store asks for features, too
    )

    return Registry([load_object(each, f"{path}:table") for each in features for path in each.operations])


def list_notices() -> "list[ChatNotice]":
    """Return the notices of all features, which channels show."""
    return [notice for each in load_features() if each.notices is not None for notice in each.notices()]


def list_routes(host: "Host") -> "list[web.AbstractRouteDef]":
    """Return the routes of all features that are no operations; the services of the features exist."""
    return [route for each in load_features() if each.routes is not None for route in each.routes(host)]


def list_middlewares(services: "Services") -> "list[Middleware]":
    """Return the middlewares of all features that are switched on."""
    return [added for each in load_features() if each.middlewares is not None for added in each.middlewares(services)]


def list_session_prefixes() -> list[str]:
    """Return the beginnings of the ids of the sessions that features make."""
    return [prefix for each in load_features() for prefix in each.session_prefixes]


def list_person_data() -> "list[PersonData]":
    """Return what the export of a person has of all features, in their order."""
    return [load_object(each, path) for each in load_features() for path in each.person_data]


def list_sweeps() -> "list[Sweep]":
    """Return the sweeps of all features, which delete what is old."""
    return [each.sweep for each in load_features() if each.sweep is not None]


def list_loop_factories() -> "list[CreateLoops]":
    """Return what creates the loops of all features."""
    return [each.loops for each in load_features() if each.loops is not None]


def register_feature_tools(services: "Services", *, has_host: bool = True) -> None:
    """Offer the tools of all features to the turns of a host, which must not have started; without one, those that
    need none.
    """
    for tool in list_feature_tools(services, has_host=has_host):
        services.register_tool(tool)


def list_feature_tools(services: "Services", *, has_host: bool = True) -> "list[Tool]":
    """Return the tools of all features that are switched on; without a host, those that need none."""
    return [
        tool
        for each in load_features()
        if each.tools is not None and (has_host or not each.tools_need_host)
        for tool in each.tools(services)
    ]
