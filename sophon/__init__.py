"""Sophon: composable middleware for language-model agents."""

from sophon._version import __version__
from sophon.approvals import ApprovalRequest, Decision
from sophon.context import Context
from sophon.errors import SophonError
from sophon.messages import Message, Response, ToolCall, ToolResult, Usage
from sophon.models.model import ModelRequest, ModelResponse
from sophon.pipeline import Middleware, Next, Pipeline
from sophon.services import Services
from sophon.tools.registry import ToolRegistry
from sophon.tools.tool import Risk, Tool, tool

__all__ = [
    "ApprovalRequest",
    "Context",
    "Decision",
    "Message",
    "Middleware",
    "ModelRequest",
    "ModelResponse",
    "Next",
    "Pipeline",
    "Response",
    "Risk",
    "Services",
    "SophonError",
    "Tool",
    "ToolCall",
    "ToolRegistry",
    "ToolResult",
    "Usage",
    "__version__",
    "tool",
]
