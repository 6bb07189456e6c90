"""The chain `wasp`: rules before the model, checks of the reply behind it. Source: WASP."""

from sophon.chain.pipeline import Pipeline
from sophon.chain.placement import Additions, compose_with
from sophon_middlewares.chains.published_constants import WASP
from sophon_middlewares.chains.stage_names import as_stage
from sophon_middlewares.decisions.decision_layer import DecisionLayer
from sophon_middlewares.guards.audit import Audit
from sophon_middlewares.guards.intent_gate import IntentGate
from sophon_middlewares.guards.rate_limit import RateLimit
from sophon_middlewares.guards.redaction.redaction import Redaction, ReplyRedaction
from sophon_middlewares.guards.simulation import Simulation
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
from sophon_middlewares.outer.prompt_tool_bridge.skill_calls import SkillCalls
from sophon_middlewares.outer.session_events.session_events import SessionEvents
from sophon_middlewares.replies.action_announcer import ActionAnnouncer
from sophon_middlewares.replies.response_validator import ResponseValidator
from sophon_middlewares.replies.url_outcomes import UrlOutcomes
from sophon_middlewares.stages.chain_defaults import ChainDefaults
from sophon_middlewares.stages.model_call_limit import RequestBudget
from sophon_middlewares.stages.stage_mark import StageMark
from sophon_middlewares.stages.tool_split import ToolSplit
from sophon_middlewares.traces.trace import Trace


def compose_wasp(added: Additions, *, traced: bool) -> Pipeline:
    """Return the chain, with the trace that the published one writes of each request if `traced`.

    What acts on the way out stands outside of what it judges, in reverse order.
    """
    return compose_with(
        added,
        as_stage("1 PerChatLock, 12 ChannelPostProcessing", SessionEvents()),
        *([as_stage("each request", Trace())] if traced else []),
        *("Learning", "Scoring"),
        ChainDefaults(WASP),
        "Preferences",
        Budget(),
        "Agents",
        CapabilityRouting(),
        as_stage("6 ContextBuilder", ContextWindow()),
        *("Memory", "Skills"),
        as_stage("5 CapabilityEngine", ToolSplit()),
        ReplyRedaction(),
        "CustomTools",
        PromptToolBridge(dialect=SkillCalls()),
        as_stage("2 LowIntentGuard, 3 AutoDetect, 4 DecisionLayer", DecisionLayer()),
        StageMark("context_builder"),
        as_stage("11 ActionAnnouncer", ActionAnnouncer()),
        as_stage("9 ResponseValidator, 10 ResponseGuard", ResponseValidator()),
        as_stage("8 MultiUrlAggregator", UrlOutcomes()),
        as_stage("7 LlmLoop, request budget", RequestBudget()),
        Planning(),
        as_stage("7 LlmLoop", AgenticLoop()),
        "Checkpoints",
        ParallelExecution(),
        as_stage("7 SkillExecutor, audit", Audit()),
        as_stage("7 SkillExecutor, redaction", Redaction()),
        "Authorization",
        as_stage("7 SkillExecutor, cooldown and rate limit", RateLimit()),
        as_stage("7 IntentGate", IntentGate()),
        *("OffTheRecord", "Integrity", "InformationFlow", "Protection", "Shield", "Snapshot", "Sandbox"),
        as_stage("7 SkillExecutor, simulation", Simulation()),
        Approval(),
        as_stage("7 SkillExecutor", ToolExecution()),
        LlmInvoker(),
    )
