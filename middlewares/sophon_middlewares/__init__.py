"""The middlewares of Sophon: the twelve of the default chain, the guards, the stages of classification and learning."""

from typing import TYPE_CHECKING

from sophon._python.lazy_names import lazy_names

if TYPE_CHECKING:
    from sophon_middlewares.guards.audit import Audit
    from sophon_middlewares.guards.authorization import Authorization
    from sophon_middlewares.guards.information_flow import InformationFlow
    from sophon_middlewares.guards.integrity import Integrity
    from sophon_middlewares.guards.intent_gate import IntentGate
    from sophon_middlewares.guards.off_the_record import OffTheRecord
    from sophon_middlewares.guards.personal_data import MaskPersonalData
    from sophon_middlewares.guards.protection import Protection
    from sophon_middlewares.guards.rate_limit import RateLimit
    from sophon_middlewares.guards.redaction import Redaction
    from sophon_middlewares.guards.reply_redaction import ReplyRedaction
    from sophon_middlewares.guards.sandbox import Sandbox
    from sophon_middlewares.guards.shield import Shield
    from sophon_middlewares.guards.simulation import Simulation
    from sophon_middlewares.guards.snapshot import Snapshot
    from sophon_middlewares.inner.agentic_loop import AgenticLoop
    from sophon_middlewares.inner.approval import Approval
    from sophon_middlewares.inner.llm_invoker import LlmInvoker
    from sophon_middlewares.inner.parallel_execution import ParallelExecution
    from sophon_middlewares.inner.sequential_execution import SequentialExecution
    from sophon_middlewares.inner.tool_execution import ToolExecution
    from sophon_middlewares.inner.transport import Transport
    from sophon_middlewares.learners.classification import Classification
    from sophon_middlewares.learners.learning import Learning
    from sophon_middlewares.learners.scoring import Scoring
    from sophon_middlewares.outer.assembler import Assembler
    from sophon_middlewares.outer.budget.budget import Budget
    from sophon_middlewares.outer.capability_routing.capability_routing import CapabilityRouting
    from sophon_middlewares.outer.chain_defaults import ChainDefaults
    from sophon_middlewares.outer.context_window.context_window import ContextWindow
    from sophon_middlewares.outer.decision_layer import DecisionLayer
    from sophon_middlewares.outer.planning.planning import Planning
    from sophon_middlewares.outer.preferences import Preferences
    from sophon_middlewares.outer.prompt_tool_bridge.prompt_tool_bridge import PromptToolBridge
    from sophon_middlewares.outer.prompt_tool_bridge.skill_calls import SkillCalls
    from sophon_middlewares.outer.published_stage import PublishedStage
    from sophon_middlewares.outer.replies.action_announcer import ActionAnnouncer
    from sophon_middlewares.outer.replies.response_validator import ResponseValidator
    from sophon_middlewares.outer.replies.url_outcomes import UrlOutcomes
    from sophon_middlewares.outer.request_budget import RequestBudget
    from sophon_middlewares.outer.session_events.session_events import SessionEvents
    from sophon_middlewares.outer.stage_mark import StageMark
    from sophon_middlewares.outer.system_prompt import SystemPrompt
    from sophon_middlewares.outer.tool_filter import ToolFilter
    from sophon_middlewares.outer.tool_split import ToolSplit
    from sophon_middlewares.outer.tools_on_demand import ToolsOnDemand
    from sophon_middlewares.outer.trace import Trace

_HOMES = {
    "ActionAnnouncer": "sophon_middlewares.outer.replies.action_announcer",
    "AgenticLoop": "sophon_middlewares.inner.agentic_loop",
    "Approval": "sophon_middlewares.inner.approval",
    "Assembler": "sophon_middlewares.outer.assembler",
    "Audit": "sophon_middlewares.guards.audit",
    "Authorization": "sophon_middlewares.guards.authorization",
    "Budget": "sophon_middlewares.outer.budget.budget",
    "CapabilityRouting": "sophon_middlewares.outer.capability_routing.capability_routing",
    "ChainDefaults": "sophon_middlewares.outer.chain_defaults",
    "Classification": "sophon_middlewares.learners.classification",
    "ContextWindow": "sophon_middlewares.outer.context_window.context_window",
    "DecisionLayer": "sophon_middlewares.outer.decision_layer",
    "InformationFlow": "sophon_middlewares.guards.information_flow",
    "Integrity": "sophon_middlewares.guards.integrity",
    "IntentGate": "sophon_middlewares.guards.intent_gate",
    "Learning": "sophon_middlewares.learners.learning",
    "LlmInvoker": "sophon_middlewares.inner.llm_invoker",
    "MaskPersonalData": "sophon_middlewares.guards.personal_data",
    "OffTheRecord": "sophon_middlewares.guards.off_the_record",
    "ParallelExecution": "sophon_middlewares.inner.parallel_execution",
    "Planning": "sophon_middlewares.outer.planning.planning",
    "Preferences": "sophon_middlewares.outer.preferences",
    "PublishedStage": "sophon_middlewares.outer.published_stage",
    "PromptToolBridge": "sophon_middlewares.outer.prompt_tool_bridge.prompt_tool_bridge",
    "Protection": "sophon_middlewares.guards.protection",
    "RateLimit": "sophon_middlewares.guards.rate_limit",
    "Redaction": "sophon_middlewares.guards.redaction",
    "ReplyRedaction": "sophon_middlewares.guards.reply_redaction",
    "RequestBudget": "sophon_middlewares.outer.request_budget",
    "ResponseValidator": "sophon_middlewares.outer.replies.response_validator",
    "Sandbox": "sophon_middlewares.guards.sandbox",
    "Scoring": "sophon_middlewares.learners.scoring",
    "SequentialExecution": "sophon_middlewares.inner.sequential_execution",
    "SessionEvents": "sophon_middlewares.outer.session_events.session_events",
    "Shield": "sophon_middlewares.guards.shield",
    "Simulation": "sophon_middlewares.guards.simulation",
    "SkillCalls": "sophon_middlewares.outer.prompt_tool_bridge.skill_calls",
    "Snapshot": "sophon_middlewares.guards.snapshot",
    "StageMark": "sophon_middlewares.outer.stage_mark",
    "ToolExecution": "sophon_middlewares.inner.tool_execution",
    "ToolFilter": "sophon_middlewares.outer.tool_filter",
    "ToolSplit": "sophon_middlewares.outer.tool_split",
    "SystemPrompt": "sophon_middlewares.outer.system_prompt",
    "ToolsOnDemand": "sophon_middlewares.outer.tools_on_demand",
    "Trace": "sophon_middlewares.outer.trace",
    "Transport": "sophon_middlewares.inner.transport",
    "UrlOutcomes": "sophon_middlewares.outer.replies.url_outcomes",
}

__all__ = [
    "ActionAnnouncer",
    "AgenticLoop",
    "Approval",
    "Assembler",
    "Audit",
    "Authorization",
    "Budget",
    "CapabilityRouting",
    "ChainDefaults",
    "Classification",
    "ContextWindow",
    "DecisionLayer",
    "InformationFlow",
    "Integrity",
    "IntentGate",
    "Learning",
    "LlmInvoker",
    "MaskPersonalData",
    "OffTheRecord",
    "ParallelExecution",
    "Planning",
    "Preferences",
    "PromptToolBridge",
    "Protection",
    "PublishedStage",
    "RateLimit",
    "Redaction",
    "ReplyRedaction",
    "RequestBudget",
    "ResponseValidator",
    "Sandbox",
    "Scoring",
    "SequentialExecution",
    "SessionEvents",
    "Shield",
    "Simulation",
    "SkillCalls",
    "Snapshot",
    "StageMark",
    "SystemPrompt",
    "ToolExecution",
    "ToolFilter",
    "ToolSplit",
    "ToolsOnDemand",
    "Trace",
    "Transport",
    "UrlOutcomes",
]

__getattr__ = lazy_names(__name__, _HOMES)
