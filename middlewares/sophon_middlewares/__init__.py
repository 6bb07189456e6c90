"""The middlewares of Sophon: the twelve of the default chain, and the guards."""

from sophon_middlewares.guards.audit import Audit
from sophon_middlewares.guards.authorization import Authorization
from sophon_middlewares.guards.information_flow import InformationFlow
from sophon_middlewares.guards.integrity import Integrity
from sophon_middlewares.guards.off_the_record import OffTheRecord
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
from sophon_middlewares.inner.tool_execution import ToolExecution
from sophon_middlewares.outer.budget import Budget
from sophon_middlewares.outer.capability_routing import CapabilityRouting
from sophon_middlewares.outer.context_window import ContextWindow
from sophon_middlewares.outer.planning import Planning
from sophon_middlewares.outer.prompt_tool_bridge import PromptToolBridge
from sophon_middlewares.outer.session_events import SessionEvents
from sophon_middlewares.outer.tool_filter import ToolFilter

__all__ = [
    "AgenticLoop",
    "Approval",
    "Audit",
    "Authorization",
    "Budget",
    "CapabilityRouting",
    "ContextWindow",
    "InformationFlow",
    "Integrity",
    "LlmInvoker",
    "OffTheRecord",
    "ParallelExecution",
    "Planning",
    "PromptToolBridge",
    "Protection",
    "RateLimit",
    "Redaction",
    "ReplyRedaction",
    "Sandbox",
    "SessionEvents",
    "Shield",
    "Simulation",
    "Snapshot",
    "ToolExecution",
    "ToolFilter",
]
