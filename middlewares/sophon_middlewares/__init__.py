"""The middlewares of Sophon: the twelve of the default chain, the guards, the stages of classification and learning."""

from typing import TYPE_CHECKING

from sophon._python.lazy_names import lazy_names

if TYPE_CHECKING:
    from sophon_middlewares.decisions.decision_layer import DecisionLayer
    from sophon_middlewares.guards.audit import Audit
    from sophon_middlewares.guards.authorization import Authorization
    from sophon_middlewares.guards.information_flow.information_flow import InformationFlow
    from sophon_middlewares.guards.integrity import Integrity
    from sophon_middlewares.guards.intent_gate import IntentGate
    from sophon_middlewares.guards.off_the_record import OffTheRecord
    from sophon_middlewares.guards.personal_data import MaskPersonalData
    from sophon_middlewares.guards.protection import Protection
    from sophon_middlewares.guards.rate_limit import RateLimit
    from sophon_middlewares.guards.redaction.redaction import Redaction, ReplyRedaction
    from sophon_middlewares.guards.shield.shield import Shield
    from sophon_middlewares.guards.simulation import Simulation
    from sophon_middlewares.guards.snapshot import Snapshot
    from sophon_middlewares.guards.unsandboxed_programs import Sandbox
    from sophon_middlewares.inner.agentic_loop.agentic_loop import AgenticLoop
    from sophon_middlewares.inner.approval.approval import Approval
    from sophon_middlewares.inner.llm_invoker.llm_invoker import LlmInvoker
    from sophon_middlewares.inner.parallel_execution import ParallelExecution
    from sophon_middlewares.inner.tool_execution import ToolExecution
    from sophon_middlewares.learning.classification import Classification
    from sophon_middlewares.learning.learning import Learning
    from sophon_middlewares.learning.scoring import Scoring
    from sophon_middlewares.memory.preferences import Preferences
    from sophon_middlewares.outer.budget.budget import Budget
    from sophon_middlewares.outer.capability_routing.capability_routing import CapabilityRouting
    from sophon_middlewares.outer.context_window.context_window import ContextWindow
    from sophon_middlewares.outer.planning.planning import Planning
    from sophon_middlewares.outer.prompt_tool_bridge.prompt_tool_bridge import PromptToolBridge
    from sophon_middlewares.outer.prompt_tool_bridge.skill_calls import SkillCalls
    from sophon_middlewares.outer.session_events.session_events import SessionEvents
    from sophon_middlewares.outer.tool_filter.tool_filter import ToolFilter
    from sophon_middlewares.prompt.system_prompt import SystemPrompt
    from sophon_middlewares.replies.action_announcer import ActionAnnouncer
    from sophon_middlewares.replies.response_validator import ResponseValidator
    from sophon_middlewares.replies.url_outcomes import UrlOutcomes
    from sophon_middlewares.stages.assembler import Assembler
    from sophon_middlewares.stages.chain_defaults import ChainDefaults
    from sophon_middlewares.stages.model_call_limit import RequestBudget
    from sophon_middlewares.stages.model_transport import Transport
    from sophon_middlewares.stages.published_stage import PublishedStage
    from sophon_middlewares.stages.sequential_execution import SequentialExecution
    from sophon_middlewares.stages.stage_mark import StageMark
    from sophon_middlewares.stages.tool_split import ToolSplit
    from sophon_middlewares.stages.tools_on_demand import ToolsOnDemand
    from sophon_middlewares.traces.trace import Trace

_HOMES = {
    "ActionAnnouncer": "sophon_middlewares.replies.action_announcer",
    "AgenticLoop": "sophon_middlewares.inner.agentic_loop.agentic_loop",
    "Approval": "sophon_middlewares.inner.approval.approval",
    "Assembler": "sophon_middlewares.stages.assembler",
    "Audit": "sophon_middlewares.guards.audit",
    "Authorization": "sophon_middlewares.guards.authorization",
    "Budget": "sophon_middlewares.outer.budget.budget",
    "CapabilityRouting": "sophon_middlewares.outer.capability_routing.capability_routing",
    "ChainDefaults": "sophon_middlewares.stages.chain_defaults",
    "Classification": "sophon_middlewares.learning.classification",
    "ContextWindow": "sophon_middlewares.outer.context_window.context_window",
    "DecisionLayer": "sophon_middlewares.decisions.decision_layer",
    "InformationFlow": "sophon_middlewares.guards.information_flow.information_flow",
    "Integrity": "sophon_middlewares.guards.integrity",
    "IntentGate": "sophon_middlewares.guards.intent_gate",
    "Learning": "sophon_middlewares.learning.learning",
    "LlmInvoker": "sophon_middlewares.inner.llm_invoker.llm_invoker",
    "MaskPersonalData": "sophon_middlewares.guards.personal_data",
    "OffTheRecord": "sophon_middlewares.guards.off_the_record",
    "ParallelExecution": "sophon_middlewares.inner.parallel_execution",
    "Planning": "sophon_middlewares.outer.planning.planning",
    "Preferences": "sophon_middlewares.memory.preferences",
    "PublishedStage": "sophon_middlewares.stages.published_stage",
    "PromptToolBridge": "sophon_middlewares.outer.prompt_tool_bridge.prompt_tool_bridge",
    "Protection": "sophon_middlewares.guards.protection",
    "RateLimit": "sophon_middlewares.guards.rate_limit",
    "Redaction": "sophon_middlewares.guards.redaction.redaction",
    "ReplyRedaction": "sophon_middlewares.guards.redaction.redaction",
    "RequestBudget": "sophon_middlewares.stages.model_call_limit",
    "ResponseValidator": "sophon_middlewares.replies.response_validator",
    "Sandbox": "sophon_middlewares.guards.unsandboxed_programs",
    "Scoring": "sophon_middlewares.learning.scoring",
    "SequentialExecution": "sophon_middlewares.stages.sequential_execution",
    "SessionEvents": "sophon_middlewares.outer.session_events.session_events",
    "Shield": "sophon_middlewares.guards.shield.shield",
    "Simulation": "sophon_middlewares.guards.simulation",
    "SkillCalls": "sophon_middlewares.outer.prompt_tool_bridge.skill_calls",
    "Snapshot": "sophon_middlewares.guards.snapshot",
    "StageMark": "sophon_middlewares.stages.stage_mark",
    "ToolExecution": "sophon_middlewares.inner.tool_execution",
    "ToolFilter": "sophon_middlewares.outer.tool_filter.tool_filter",
    "ToolSplit": "sophon_middlewares.stages.tool_split",
    "SystemPrompt": "sophon_middlewares.prompt.system_prompt",
    "ToolsOnDemand": "sophon_middlewares.stages.tools_on_demand",
    "Trace": "sophon_middlewares.traces.trace",
    "Transport": "sophon_middlewares.stages.model_transport",
    "UrlOutcomes": "sophon_middlewares.replies.url_outcomes",
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
