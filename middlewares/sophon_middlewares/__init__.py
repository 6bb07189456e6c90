"""The middlewares of Sophon: the twelve of the default chain."""

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
    "Budget",
    "CapabilityRouting",
    "ContextWindow",
    "LlmInvoker",
    "ParallelExecution",
    "Planning",
    "PromptToolBridge",
    "SessionEvents",
    "ToolExecution",
    "ToolFilter",
]
