"""Secrets in texts: what is one, by its form or because settings resolved it in this process, and its replacement."""

from sophon.security.known_secrets import KNOWN_SECRETS, MARKER
from sophon.security.redaction import RedactedError, describe_error, redact, redact_and_cut, redact_message
from sophon.security.url_secrets import hide_url_secrets, query_secrets, url_secrets

__all__ = [
    "KNOWN_SECRETS",
    "MARKER",
    "RedactedError",
    "describe_error",
    "hide_url_secrets",
    "query_secrets",
    "redact",
    "redact_and_cut",
    "redact_message",
    "url_secrets",
]
