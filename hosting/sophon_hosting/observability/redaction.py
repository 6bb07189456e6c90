"""Log redaction: secrets of the settings by value, all others by pattern."""

import re
from collections.abc import Collection, Iterator, Mapping
from urllib.parse import quote, unquote, urlsplit

from sophon.models.providers.defaults import PROVIDER_DEFAULTS
from sophon.settings import Secret, SecretUrl, Settings
from sophon.settings.types.section import SettingsSection

REDACTION_MARKER = "***"
"""Replacement of a secret."""

MIN_SECRET_CHARACTERS = 8
"""Minimum length of a redacted value, in characters; shorter ones, such as `ollama`, occur in ordinary text."""

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
_BARE = r"(?!(?:null|none|true|false)(?:[\s,;&)\]}]|$))[^\s\"'&,;\\]{4,}"
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
        forms = {
            form for value in values if len(value) >= MIN_SECRET_CHARACTERS for form in (value, quote(value, safe=""))
        }
        # Longest first: one secret may be a prefix of another.
        pattern = "|".join(re.escape(form) for form in sorted(forms, key=lambda form: (-len(form), form)))
        self._values = re.compile(pattern) if pattern else None

    def __call__(self, text: str) -> str:
        """Return the redacted text."""
        return redact_patterns(text if self._values is None else self._values.sub(REDACTION_MARKER, text))


def redact_patterns(text: str) -> str:
    """Redact texts that match a secret's pattern: headers, values of keys and passwords, `sk-…`, `AIza…`.

    A quoted value is replaced completely; the name before it stays.
    """
    return _PATTERNS.sub(lambda match: f"{match[match.lastgroup] if match.lastgroup else ''}{REDACTION_MARKER}", text)


def is_secret_name(name: str) -> bool:
    """Return whether a field of that name holds a secret: `token`, `OPENAI_API_KEY`, `Authorization`; not `tokens`."""
    return _SECRET_FIELD.fullmatch(name) is not None


def collect_secrets(settings: Settings, environment: Mapping[str, str]) -> frozenset[str]:
    """Return all secret values of the settings, passwords of URLs, and provider keys found in the environment."""
    values = {value for secret in _secrets_in(settings) for value in _values_of(secret, environment)}
    values |= {
        environment[name] for provider in PROVIDER_DEFAULTS for name in provider.key_variables if name in environment
    }
    return frozenset(value.strip() for value in values if value.strip())


def _secrets_in(value: object) -> Iterator[Secret]:
    if isinstance(value, Secret):
        yield value
    elif isinstance(value, SettingsSection):
        for name in type(value).model_fields:
            yield from _secrets_in(getattr(value, name))
    elif isinstance(value, tuple | list):
        for item in value:  # pyright: ignore[reportUnknownVariableType] - whatever a setting holds
            yield from _secrets_in(item)  # pyright: ignore[reportUnknownArgumentType] - the same


def _values_of(secret: Secret, environment: Mapping[str, str]) -> Iterator[str]:
    value = secret.resolve(environment)
    if value is None:
        return
    if not isinstance(secret, SecretUrl):
        yield value
        return
    try:
        password = urlsplit(value).password
    except ValueError:  # not a URL: treat all of it as secret
        yield value
        return
    if password:
        yield from (password, unquote(password))
