"""Model hooks of the host's own model calls: titles, memories and plans of goals are masked as turns are."""

from sophon.chain.order_constraints import get_middleware_name
from sophon.chain.pipeline import Pipeline
from sophon.chain.pipeline_registry import PipelineRegistry


def add_model_hooks(chain: Pipeline, pipelines: PipelineRegistry) -> Pipeline:
    """Return a chain of the host's own with those middlewares of its turns that hook every model call in front.

    They declare `hooks_model_calls`. Of several chains by task type the first middleware of each name counts.
    """
    hooks = {
        get_middleware_name(each): each
        for turns in reversed([pipelines.default, *pipelines.by_type.values()])
        for each in turns
        if getattr(each, "hooks_model_calls", False)
    }
    return Pipeline.compose(*hooks.values(), *chain) if hooks else chain
