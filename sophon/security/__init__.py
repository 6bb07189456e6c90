"""Security rules as pure functions: secrets in texts and their redaction, and the rules that the guards apply.

Redaction is imported with this package, because errors use it; the rules of the guards on first access.
"""

import importlib
from typing import TYPE_CHECKING

from sophon.redaction_hook import RedactedError, redact_message
from sophon.security.redaction.known_secrets import KNOWN_SECRETS, MARKER
from sophon.security.redaction.text_redaction import describe_error, redact, redact_and_cut
from sophon.security.redaction.url_secrets import hide_url_secrets, query_secrets, url_secrets

if TYPE_CHECKING:
    from sophon.security.audit.audit_chain import verify_audit
    from sophon.security.authorization.access_control import Acl
    from sophon.security.commands import is_safe_command
    from sophon.security.heuristics import Finding, evaluate_heuristics
    from sophon.security.information_flow.flow_decision import flow_decision
    from sophon.security.policy import Policy
    from sophon.security.protection import protection_level
    from sophon.security.redaction.stream_redactor import StreamRedactor
    from sophon.security.risk_assessment import assess_risk

_HOME = {
    "Acl": "sophon.security.authorization.access_control",
    "Finding": "sophon.security.heuristics",
    "StreamRedactor": "sophon.security.redaction.stream_redactor",
    "Policy": "sophon.security.policy",
    "assess_risk": "sophon.security.risk_assessment",
    "evaluate_heuristics": "sophon.security.heuristics",
    "flow_decision": "sophon.security.information_flow.flow_decision",
    "is_safe_command": "sophon.security.commands",
    "protection_level": "sophon.security.protection",
    "verify_audit": "sophon.security.audit.audit_chain",
}

__all__ = [
    "KNOWN_SECRETS",
    "MARKER",
    "Acl",
    "Finding",
    "Policy",
    "RedactedError",
    "StreamRedactor",
    "assess_risk",
    "describe_error",
    "evaluate_heuristics",
    "flow_decision",
    "hide_url_secrets",
    "is_safe_command",
    "protection_level",
    "query_secrets",
    "redact",
    "redact_and_cut",
    "redact_message",
    "url_secrets",
    "verify_audit",
]


def __getattr__(name: str) -> object:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value
