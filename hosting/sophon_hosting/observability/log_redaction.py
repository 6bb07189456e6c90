"""Log redaction: secrets of the settings by value, all others by pattern."""

import re
from collections.abc import Collection

from sophon.security import MARKER, redact
from sophon.security.redaction.known_secrets import compile_values

REDACTION_MARKER = MARKER
"""Replacement of a secret."""

_NAME = (
    r"(?:(?<![A-Za-z])|(?-i:(?<=[a-z])(?=[A-Z])))"  # start of a word, also within camelCase
    r"(?:api|access|refresh|client|app|auth|bot|private|verify|webhook)?[_-]?"
    r"(?:token|key|secret|password|passwd|passphrase|pwd)"
)
_ASSIGNMENT = r"\\?[\"']?\s*[=:]\s*(?:b(?=[\"']))?"
_QUOTED = (
    r"(?:(?<=\\\")(?:\\{3}.|\\(?!\").|[^\"\\\r\n]){4,}"  # JSON within a JSON string: the value ends with \"
    r"|(?<=\\')(?:\\{3}.|\\(?!').|[^'\\\r\n]){4,}"
    r"|(?<!\\\")(?<=\")(?:\\.|[^\"\\\r\n]){4,}"
    r"|(?<!\\')(?<=')(?:\\.|[^'\\\r\n]){4,})"
)
_OWN_PROSE = r"(?:(?:environment variable|file|user) |unknown setting;|missing or empty)"
"""Pattern of the text that follows `token: ` and the like in messages of Sophon: a name, never the secret."""
_BARE = rf"(?!{_OWN_PROSE})" r"(?!\[REDACTED)(?!(?:null|none|true|false)(?:[\s,;&)\]}]|$))[^\s\"'&,;\\]{4,}"
_LISTED = r"[\[{]\s*[\"'][^\]}\r\n]{4,}"
_PATTERNS = re.compile(
    rf"(?P<header>\bauthorization{_ASSIGNMENT}(?:[A-Za-z]+\s+)?|\bbearer\s+|\bbasic\s+(?=[A-Za-z0-9+/]{{6,}}=)"
    r")[^\s\"'@,;\\]{4,}"
    r"|(?P<address>://[^\s/@:\"']*:)[^\s/\"]+(?=@)"
    r"|(?P<bot>/bot\d+:)[^\s/\"'?]{4,}"  # Telegram URLs contain the token in their path
    rf"|(?P<assignment>(?:{_NAME}|\bauthorization){_ASSIGNMENT}(?:\\?[\"'])?)(?:{_QUOTED}|{_LISTED}|{_BARE})"
    r"|(?<![A-Za-z0-9])(?:sk-|(?-i:AIza))[A-Za-z0-9_-]{8,}"
    r"|(?<!\d)\d{6,}:[A-Za-z0-9_-]{30,}",  # the same token on its own
    re.IGNORECASE,
)
_SECRET_FIELD = re.compile(
    rf".*(?:{_NAME}|(?<![A-Za-z])(?:secrets|passwords|credentials?|authorization|cookie))", re.IGNORECASE | re.DOTALL
)


class LogRedactor:
    """Replaces `values`, also in percent-encoded form, and texts that match a secret's pattern.

    Values of fewer than 8 characters are replaced only where they match a pattern.
    """

    def __init__(self, values: Collection[str] = ()) -> None:
        self._values = compile_values(set(values))

    def __call__(self, text: str) -> str:
        """Return the redacted text."""
        return redact_patterns(text if self._values is None else self._values.sub(REDACTION_MARKER, text))


def redact_patterns(text: str) -> str:
    """Redact what `sophon.security.redact` does and, as no log line is code, also weaker patterns: any value of a key.

    A quoted value is replaced completely; the name before it stays.
    """
    return _PATTERNS.sub(
        lambda match: f"{match[match.lastgroup] if match.lastgroup else ''}{REDACTION_MARKER}", redact(text)
    )


def is_secret_name(name: str) -> bool:
    """Return whether a field of that name holds a secret: `token`, `OPENAI_API_KEY`, `Authorization`; not `tokens`."""
    return _SECRET_FIELD.fullmatch(name) is not None
