"""The chain `clawdesk`: the six stages of that pipeline. Source: ClawDesk."""

from typing import Final

from sophon.chain.pipeline import Pipeline
from sophon.chain.placement import Additions, compose_with
from sophon_middlewares.chains.published_constants import CLAWDESK
from sophon_middlewares.chains.stage_names import as_stage
from sophon_middlewares.guards.authorization import Authorization
from sophon_middlewares.inner.agentic_loop.agentic_loop import AgenticLoop, LoopOptions
from sophon_middlewares.inner.agentic_loop.loop_detector import LoopLimits
from sophon_middlewares.inner.approval.approval import Approval
from sophon_middlewares.inner.llm_invoker.llm_invoker import LlmInvoker
from sophon_middlewares.inner.parallel_execution import ParallelExecution
from sophon_middlewares.inner.tool_execution import ToolExecution
from sophon_middlewares.memory.preferences import Preferences
from sophon_middlewares.outer.budget.budget import Budget
from sophon_middlewares.outer.capability_routing.capability_routing import CapabilityRouting
from sophon_middlewares.outer.context_window.context_window import ContextWindow
from sophon_middlewares.outer.prompt_tool_bridge.prompt_tool_bridge import PromptToolBridge
from sophon_middlewares.outer.session_events.session_events import SessionEvents
from sophon_middlewares.stages.chain_defaults import ChainDefaults
from sophon_middlewares.stages.published_stage import PublishedStage
from sophon_middlewares.stages.tool_split import ToolSplit
from sophon_middlewares.traces.trace import Trace

LOOP_LIMITS: Final = LoopLimits(
    window=16,
    repeat_warning=3,
    repeat_critical=5,
    repeat_breaker=8,
    criticals=4,  # else the third refusal, of the seventh call, ends the turn before the breaker does
    poll_warning=3,
    poll_critical=5,
    ping_pong_window=8,
    ping_pong_critical=8,
)
"""Published thresholds of the loop detector."""


def compose_clawdesk(added: Additions, *, traced: bool) -> Pipeline:
    """Return the chain, with the trace that the published one writes of each request if `traced`."""
    return compose_with(
        added,
        as_stage("1 AuthResolve, 2 HistorySanitize", SessionEvents()),
        "ReplyRedaction",
        *([as_stage("each request", Trace())] if traced else []),
        *("Learning", "Scoring"),
        ChainDefaults(CLAWDESK),
        PublishedStage("auth_resolve"),
        as_stage("1 AuthResolve", Preferences()),
        Budget(),
        PublishedStage("history_sanitize"),
        PublishedStage("context_guard"),
        "Agents",
        as_stage("3 ContextGuard", CapabilityRouting()),
        as_stage("2 HistorySanitize, 3 ContextGuard", ContextWindow()),
        *("Memory", "Skills"),
        PublishedStage("tool_split"),
        as_stage("4 ToolSplit", ToolSplit()),
        "CustomTools",
        PromptToolBridge(),
        # on the way out: the sixth stage judges what the fifth did
        as_stage("6 FailoverDecide", PublishedStage("failover_decide", leaves=True)),
        PublishedStage("execute"),
        *("ActionAnnouncer", "ResponseValidator", "UrlOutcomes", "DecisionLayer"),
        as_stage("5 Execute", AgenticLoop(options=LoopOptions(limits=LOOP_LIMITS))),
        "Checkpoints",
        ParallelExecution(),
        *("Audit", "Redaction"),
        as_stage("4 ToolSplit", Authorization()),  # the policy again, when a call is proposed and before it runs
        *("RateLimit", "IntentGate", "OffTheRecord", "Integrity"),
        *("InformationFlow", "Protection", "Shield", "Snapshot", "Sandbox", "Simulation"),
        Approval(),
        ToolExecution(),
        as_stage("5 Execute, 6 FailoverDecide", LlmInvoker()),
    )
