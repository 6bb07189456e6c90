"""Repositories that features add to a host's store: the store itself names none of them."""

from functools import cache
from importlib import import_module

from sophon.stores.sql.store_part import StorePart

# By name: features stand above the store.
REGISTRY = "sophon_hosting.features.registry"


@cache
def load_feature_parts() -> tuple[type[StorePart], ...]:
    """Return the classes of `Feature.tables`, importing them, in the order in which they are asked about a session."""
    registry = import_module(REGISTRY)
    return tuple(registry.load_object(feature, path) for feature in registry.load_features() for path in feature.tables)
