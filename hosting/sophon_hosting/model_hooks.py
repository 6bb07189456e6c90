"""Model hooks of the host's other model calls: titles, memories, plans of goals, replays and chains of task types are
masked as turns are.
"""

from sophon.chain.order_constraints import get_middleware_name
from sophon.chain.pipeline import Middleware, Pipeline
from sophon.chain.placement import place
from sophon.turn.pipeline_registry import PipelineRegistry


def place_model_hooks(chain: Pipeline, pipelines: PipelineRegistry) -> Pipeline:
    """Return the chain with those middlewares of the host's turns that hook every model call and that it does not have.

    Of several chains by task type the first middleware of each name counts.
    """
    hooks: dict[str, Middleware] = {}
    for turns in (pipelines.default, *pipelines.by_type.values()):
        for each in turns:
            if getattr(each, "hooks_model_calls", False):
                hooks.setdefault(get_middleware_name(each), each)
    return place(chain, hooks.values())
