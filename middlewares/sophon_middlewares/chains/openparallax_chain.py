"""The chain `openparallax`: tools on demand, a security engine around each call. Source: OpenParallax."""

from sophon.chain.pipeline import Pipeline
from sophon.chain.placement import Additions, compose_with
from sophon_middlewares.chains.published_constants import OPENPARALLAX
from sophon_middlewares.chains.stage_names import as_stage
from sophon_middlewares.guards.audit import Audit
from sophon_middlewares.guards.information_flow.information_flow import InformationFlow
from sophon_middlewares.guards.integrity import Integrity
from sophon_middlewares.guards.protection import Protection
from sophon_middlewares.guards.rate_limit import RateLimit
from sophon_middlewares.guards.redaction.redaction import Redaction, ReplyRedaction
from sophon_middlewares.guards.shield.shield import Shield
from sophon_middlewares.guards.snapshot import Snapshot
from sophon_middlewares.inner.agentic_loop.agentic_loop import AgenticLoop, LoopOptions
from sophon_middlewares.inner.approval.approval import Approval
from sophon_middlewares.inner.llm_invoker.llm_invoker import LlmInvoker
from sophon_middlewares.inner.tool_execution import ToolExecution
from sophon_middlewares.outer.budget.budget import Budget
from sophon_middlewares.outer.capability_routing.capability_routing import CapabilityRouting
from sophon_middlewares.outer.context_window.context_window import ContextWindow
from sophon_middlewares.outer.prompt_tool_bridge.prompt_tool_bridge import PromptToolBridge
from sophon_middlewares.outer.session_events.session_events import SessionEvents
from sophon_middlewares.prompt.system_prompt import SystemPrompt
from sophon_middlewares.stages.chain_defaults import ChainDefaults
from sophon_middlewares.stages.sequential_execution import SequentialExecution
from sophon_middlewares.stages.tools_on_demand import ToolsOnDemand


def compose_openparallax(added: Additions) -> Pipeline:
    """Return the chain. One call runs at a time, as published."""
    return compose_with(
        added,
        as_stage("1 Ingestion, 2a LoadHistory, 5 Completion", SessionEvents()),
        *("Trace", "Learning", "Scoring"),
        ChainDefaults(OPENPARALLAX),
        "Preferences",
        Budget(),
        "Agents",
        CapabilityRouting(),
        as_stage("2b SystemPrompt", SystemPrompt()),
        as_stage("2c StaleResults, 2d Compaction", ContextWindow()),
        *("Memory", "Skills"),
        as_stage("2e LoadTools", ToolsOnDemand()),
        ReplyRedaction(),
        "CustomTools",
        PromptToolBridge(),
        *("ActionAnnouncer", "ResponseValidator", "UrlOutcomes", "DecisionLayer"),
        as_stage("3 ReasoningLoop", AgenticLoop(options=LoopOptions(announces_rounds=False))),
        "Checkpoints",
        as_stage("3 ReasoningLoop", SequentialExecution()),
        # 4: what becomes of a proposed call, in the engine
        as_stage("4 Audit", Audit()),
        as_stage("4 StreamingRedactor", Redaction()),
        "Authorization",
        as_stage("4 Shield, rate limit", RateLimit()),
        *("IntentGate", "OffTheRecord"),
        as_stage("4 ActionHash", Integrity()),
        as_stage("4 InformationFlow", InformationFlow()),
        as_stage("4 Protection", Protection(demands_tiers=True)),
        as_stage("4 Shield, tiers 0 to 2", Shield(announces_calls=True)),
        as_stage("4 Chronicle", Snapshot()),
        *("Sandbox", "Simulation"),
        as_stage("4 Shield, tier 3", Approval()),
        as_stage("4 Execute", ToolExecution()),
        as_stage("2f StreamWithTools", LlmInvoker()),
    )
