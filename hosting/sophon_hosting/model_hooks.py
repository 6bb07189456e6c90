"""Model hooks of the host's other model calls: titles, memories, plans of goals, replays and chains of task types are
masked as turns are.
"""

from collections.abc import Iterable

from sophon.chain.order_constraints import get_middleware_name, read_order_constraints
from sophon.chain.pipeline import Middleware, Pipeline
from sophon.turn.pipeline_registry import PipelineRegistry


def add_model_hooks(chain: Pipeline, pipelines: PipelineRegistry) -> Pipeline:
    """Return the chain with those middlewares of the host's turns that hook every model call.

    Of several chains by task type the first middleware of each name counts.
    """
    return add_hooks_of([pipelines.default, *pipelines.by_type.values()], chain)


def add_hooks_of(chains: Iterable[Iterable[Middleware]], chain: Pipeline) -> Pipeline:
    """Return the chain with the middlewares of `chains` that declare `hooks_model_calls` and that it does not have, in
    front, or behind one that must be the first.
    """
    names = {get_middleware_name(each) for each in chain}
    hooks: dict[str, Middleware] = {}
    for each in (middleware for turns in chains for middleware in turns):
        if getattr(each, "hooks_model_calls", False) and get_middleware_name(each) not in names:
            hooks.setdefault(get_middleware_name(each), each)
    place = 1 if read_order_constraints(chain[0]).first else 0
    return type(chain).compose(*chain[:place], *hooks.values(), *chain[place:]) if hooks else chain
