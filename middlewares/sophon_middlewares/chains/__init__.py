"""The named chains: literal lists of all middlewares, in order, with named places for what settings and a host add.

What is quoted is a place: empty, unless `added` has a middleware of that name (`chains.additions` says which and why).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Protocol

from sophon.chain.pipeline import Pipeline
from sophon.chain.placement import Additions, compose_with
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

NOTHING: Final[Additions] = MappingProxyType({})


class NamedChain(Protocol):
    """Protocol of a function that composes a chain, with what is added to it."""

    def __call__(self, services: Services, added: Additions = NOTHING, /) -> Pipeline:
        """Return the chain. Raises CompositionError for what it has no place for."""
        ...


def twelve(services: Services, added: Additions = NOTHING) -> Pipeline:
    """Return the default chain: twelve middlewares; a host without any setting runs 24."""
    return compose_with(
        added,
        # the outer zone: once per turn
        SessionEvents(),
        *("Trace", "ReplyRedaction", "Learning", "Scoring", "ChainDefaults", "Preferences"),
        Budget(),
        "Agents",
        CapabilityRouting(),
        ContextWindow(),
        *("Memory", "CustomTools", "Skills"),
        ToolFilter(),
        PromptToolBridge(),
        *("ActionAnnouncer", "ResponseValidator", "UrlOutcomes", "DecisionLayer"),
        Planning(),
        # the inner zone: again for every round of tool calls
        AgenticLoop(),
        "Checkpoints",
        ParallelExecution(),
        *("Audit", "Redaction", "Authorization", "RateLimit", "IntentGate", "OffTheRecord", "Integrity"),
        *("InformationFlow", "Protection", "Shield", "Snapshot", "Sandbox", "Simulation"),
        Approval(),
        ToolExecution(),
        LlmInvoker(),
    )


# Lazy, each of the following: a process with the default chain loads none of their stages.


def clawdesk(services: Services, added: Additions = NOTHING) -> Pipeline:
    """Return the chain of clawdesk: six stages from AuthResolve to FailoverDecide; see docs/chains.md."""
    from sophon_middlewares.chains.clawdesk_chain import compose_clawdesk

    return compose_clawdesk(added, traced=services.settings.traces.enabled)


def openparallax(services: Services, added: Additions = NOTHING) -> Pipeline:
    """Return the chain of openparallax: tools on demand, each call through its security engine; see docs/chains.md."""
    from sophon_middlewares.chains.openparallax_chain import compose_openparallax

    return compose_openparallax(added)


def clawft(services: Services, added: Additions = NOTHING) -> Pipeline:
    """Return the chain of clawft: its six stages run for each model call, tool results included; see docs/clawft.md."""
    from sophon_middlewares.chains.clawft_chain import compose_clawft

    return compose_clawft(added)


def wasp(services: Services, added: Additions = NOTHING) -> Pipeline:
    """Return the chain of wasp: decisions before the model, and checks of the reply behind it; see docs/chains.md."""
    from sophon_middlewares.chains.wasp_chain import compose_wasp

    return compose_wasp(added, traced=services.settings.traces.enabled)


CHAINS: Mapping[str, NamedChain] = {
    "clawdesk": clawdesk,
    "clawft": clawft,
    "openparallax": openparallax,
    "twelve": twelve,
    "wasp": wasp,
}
"""The chains by the name that `Chain.Name` and `sophon chain` use."""
