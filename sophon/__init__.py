"""Sophon: composable middleware for language-model agents.

A name is loaded when it is first asked for, so that `import sophon` costs nothing and a chain of one's own costs what
it uses.
"""

import importlib
from typing import TYPE_CHECKING

from sophon import redaction_hook
from sophon._version import __version__

if TYPE_CHECKING:
    from sophon.approvals import ApprovalRequest, Decision
    from sophon.chain.pipeline import Middleware, Next, Pipeline
    from sophon.context import Context
    from sophon.errors import SophonError
    from sophon.messages import Message, Response, ToolCall, ToolResult, Usage
    from sophon.models.model import ModelRequest, ModelResponse
    from sophon.services import Services
    from sophon.tools.registry import ToolRegistry
    from sophon.tools.tool import Risk, Tool, tool
    from sophon.turn.task_type_chains import PipelineRegistry

_HOME = {
    "ApprovalRequest": "sophon.approvals",
    "Context": "sophon.context",
    "Decision": "sophon.approvals",
    "Message": "sophon.messages",
    "Middleware": "sophon.chain.pipeline",
    "ModelRequest": "sophon.models.model",
    "ModelResponse": "sophon.models.model",
    "Next": "sophon.chain.pipeline",
    "Pipeline": "sophon.chain.pipeline",
    "PipelineRegistry": "sophon.turn.task_type_chains",
    "Response": "sophon.messages",
    "Risk": "sophon.tools.tool",
    "Services": "sophon.services",
    "SophonError": "sophon.errors",
    "Tool": "sophon.tools.tool",
    "ToolCall": "sophon.messages",
    "ToolRegistry": "sophon.tools.registry",
    "ToolResult": "sophon.messages",
    "Usage": "sophon.messages",
    "tool": "sophon.tools.tool",
}

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
    "PipelineRegistry",
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


def _load_redact() -> redaction_hook.Redact:
    from sophon.security.redaction.text_redaction import (
        redact,  # lazy: the rules about secrets are loaded with the first text
    )

    return redact


redaction_hook.install(_load_redact)


def __getattr__(name: str) -> object:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'sophon' has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
