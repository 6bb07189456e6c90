"""Insertion of an optional middleware of the outer zone into any chain."""

from sophon.chain.order_constraints import get_middleware_name, read_order_constraints
from sophon.chain.pipeline import Middleware, Pipeline


def insert_in_front(chain: Pipeline, middleware: Middleware) -> Pipeline:
    """Return the chain with a middleware in front of the first one that must come after it, or of the inner zone.

    A chain that has it, or none of these middlewares, is returned as it is. Raises CompositionError.
    """
    names = [get_middleware_name(each) for each in chain]
    following = (*read_order_constraints(middleware).before, "AgenticLoop", "LlmInvoker")
    places = [names.index(each) for each in following if each in names]
    if get_middleware_name(middleware) in names or not places:
        return chain
    place = min(places)
    if names[place] == "ToolSplit" and names[place - 1] == "PublishedStage":
        place -= 1  # what is inserted prepares the context, and the stage begins with the split
    return insert_at(chain, place, middleware)


def insert_at(chain: Pipeline, position: int, middleware: Middleware) -> Pipeline:
    """Return the chain with a middleware at a position. Raises CompositionError."""
    parts = list(chain)
    parts.insert(position, middleware)
    # The chain may be of a class of its own.
    return type(chain).compose(*parts)
