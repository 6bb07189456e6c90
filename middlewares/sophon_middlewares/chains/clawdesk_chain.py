"""The chain `clawdesk`: the six stages of that pipeline. Source: reference/clawdesk.md 1.1."""

from sophon.chain.pipeline import Pipeline
from sophon_middlewares.chains.constants import CLAWDESK
from sophon_middlewares.chains.stage_names import as_stage
from sophon_middlewares.inner.agentic_loop import AgenticLoop
from sophon_middlewares.inner.approval import Approval
from sophon_middlewares.inner.llm_invoker import LlmInvoker
from sophon_middlewares.inner.parallel_execution import ParallelExecution
from sophon_middlewares.inner.tool_execution import ToolExecution
from sophon_middlewares.outer.budget import Budget
from sophon_middlewares.outer.capability_routing import CapabilityRouting
from sophon_middlewares.outer.chain_defaults import ChainDefaults
from sophon_middlewares.outer.context_window import ContextWindow
from sophon_middlewares.outer.preferences import Preferences
from sophon_middlewares.outer.prompt_tool_bridge import PromptToolBridge
from sophon_middlewares.outer.session_events import SessionEvents
from sophon_middlewares.outer.stage_mark import StageMark
from sophon_middlewares.outer.tool_split import ToolSplit
from sophon_middlewares.outer.trace import Trace


def compose_clawdesk(*, traced: bool = True) -> Pipeline:
    """Return the chain, with the trace that the published one writes of each request if `traced`."""
    return Pipeline.compose(
        as_stage("1 AuthResolve, 2 HistorySanitize", SessionEvents()),
        *([as_stage("each request", Trace())] if traced else []),
        ChainDefaults(CLAWDESK),
        as_stage("1 AuthResolve", Preferences()),
        StageMark("auth_resolve"),
        Budget(),
        StageMark("history_sanitize"),
        as_stage("3 ContextGuard", CapabilityRouting()),
        as_stage("2 HistorySanitize, 3 ContextGuard", ContextWindow()),
        StageMark("context_guard"),
        as_stage("4 ToolSplit", ToolSplit()),
        StageMark("tool_split"),
        PromptToolBridge(),
        # on the way out: the sixth stage judges what the fifth did
        as_stage("6 FailoverDecide", StageMark("failover_decide", leaves=True)),
        StageMark("execute", leaves=True),
        as_stage("5 Execute", AgenticLoop()),
        ParallelExecution(),
        Approval(),
        ToolExecution(),
        as_stage("5 Execute, 6 FailoverDecide", LlmInvoker()),
    )
