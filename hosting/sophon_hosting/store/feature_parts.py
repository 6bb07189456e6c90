"""Repositories that features add to a host's store, by module and class: the store itself names none of them."""

from functools import cache
from importlib import import_module

from sophon.stores.sql.store_part import StorePart

FEATURE_PARTS: tuple[str, ...] = ()
"""`module:class` of each, in the order in which they are asked about a session."""


@cache
def load_feature_parts() -> tuple[type[StorePart], ...]:
    """Return the classes, importing them."""
    names = (each.split(":") for each in FEATURE_PARTS)
    return tuple(getattr(import_module(module), name) for module, name in names)
