"""The named chains: ordered lists of middlewares."""

from collections.abc import Callable, Mapping

from sophon.chain.pipeline import Pipeline
from sophon.services import Services
from sophon_middlewares.inner.agentic_loop.agentic_loop import AgenticLoop
from sophon_middlewares.inner.approval.approval import Approval
from sophon_middlewares.inner.llm_invoker.llm_invoker import LlmInvoker
from sophon_middlewares.inner.parallel_execution import ParallelExecution
from sophon_middlewares.inner.tool_execution import ToolExecution
from sophon_middlewares.outer.budget.budget import Budget
from sophon_middlewares.outer.capability_routing.capability_routing import CapabilityRouting
from sophon_middlewares.outer.context_window.context_window import ContextWindow
from sophon_middlewares.outer.planning.planning import Planning
from sophon_middlewares.outer.prompt_tool_bridge.prompt_tool_bridge import PromptToolBridge
from sophon_middlewares.outer.session_events.session_events import SessionEvents
from sophon_middlewares.outer.tool_filter.tool_filter import ToolFilter


def twelve(services: Services) -> Pipeline:
    """Return the default chain."""
    return Pipeline.compose(
        # the outer zone: once per turn
        SessionEvents(),
        Budget(),
        CapabilityRouting(),
        ContextWindow(),
        ToolFilter(),
        PromptToolBridge(),
        Planning(),
        # the inner zone: again for every round of tool calls
        AgenticLoop(),
        ParallelExecution(),
        Approval(),
        ToolExecution(),
        LlmInvoker(),
    )


# Lazy, each of the following: a process with the default chain loads none of their stages.


def clawdesk(services: Services) -> Pipeline:
    """Return the chain of clawdesk: six stages from AuthResolve to FailoverDecide; see docs/chains.md."""
    from sophon_middlewares.chains.clawdesk_chain import compose_clawdesk

    return compose_clawdesk(traced=services.settings.traces.enabled)


def openparallax(services: Services) -> Pipeline:
    """Return the chain of openparallax: tools on demand, each call through its security engine; see docs/chains.md."""
    from sophon_middlewares.chains.openparallax_chain import compose_openparallax

    return compose_openparallax()


def clawft(services: Services) -> Pipeline:
    """Return the chain of clawft: its six stages run for each model call, tool results included; see docs/clawft.md."""
    from sophon_middlewares.chains.clawft_chain import compose_clawft

    return compose_clawft()


def wasp(services: Services) -> Pipeline:
    """Return the chain of wasp: decisions before the model, and checks of the reply behind it; see docs/chains.md."""
    from sophon_middlewares.chains.wasp_chain import compose_wasp

    return compose_wasp(traced=services.settings.traces.enabled)


CHAINS: Mapping[str, Callable[[Services], Pipeline]] = {
    "clawdesk": clawdesk,
    "clawft": clawft,
    "openparallax": openparallax,
    "twelve": twelve,
    "wasp": wasp,
}
"""Chain factories by the name that `Chain.Name` and `sophon chain` use."""
