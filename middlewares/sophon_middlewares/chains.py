"""The named chains: ordered lists of middlewares."""

from collections.abc import Callable, Mapping

from sophon.chain.pipeline import Pipeline
from sophon.services import Services
from sophon_middlewares.inner.agentic_loop import AgenticLoop
from sophon_middlewares.inner.approval import Approval
from sophon_middlewares.inner.llm_invoker import LlmInvoker
from sophon_middlewares.inner.parallel_execution import ParallelExecution
from sophon_middlewares.inner.tool_execution import ToolExecution
from sophon_middlewares.outer.budget import Budget
from sophon_middlewares.outer.capability_routing import CapabilityRouting
from sophon_middlewares.outer.context_window import ContextWindow
from sophon_middlewares.outer.planning import Planning
from sophon_middlewares.outer.prompt_tool_bridge import PromptToolBridge
from sophon_middlewares.outer.session_events import SessionEvents
from sophon_middlewares.outer.tool_filter import ToolFilter


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


def clawft(services: Services) -> Pipeline:
    """Return the chain of clawft: its six stages run for each model call, tool results included; see docs/clawft.md."""
    # Lazy: a process with the default chain neither classifies nor learns.
    from sophon_middlewares.inner.transport import Transport
    from sophon_middlewares.learners.classification import Classification
    from sophon_middlewares.learners.learning import Learning
    from sophon_middlewares.learners.scoring import Scoring
    from sophon_middlewares.outer.assembler import Assembler

    return Pipeline.compose(
        # once per turn
        SessionEvents(),
        Budget(),
        # the tool loop: settling passes end in ToolExecution
        AgenticLoop(),
        ParallelExecution(),
        Approval(),
        ToolExecution(),
        # the six stages, once for each model call; learner and scorer act on the way out
        Learning(),
        Scoring(),
        Classification(),
        CapabilityRouting(traces_priority=True),
        Assembler(),
        PromptToolBridge(),
        Transport(),
    )


CHAINS: Mapping[str, Callable[[Services], Pipeline]] = {"clawft": clawft, "twelve": twelve}
"""Chain factories by the name that `Chain.Name` and `sophon chain` use."""
