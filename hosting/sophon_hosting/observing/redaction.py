"""What must never stand in a log: the secrets of the settings by their value, all others by what they look like."""

import re
from collections.abc import Collection, Iterator, Mapping
from urllib.parse import quote, unquote, urlsplit

from sophon.models.known import KNOWN
from sophon.settings import Secret, SecretUrl, Settings
from sophon.settings.section import Section

HIDDEN = "***"

SHORTEST = 8
"""Characters. A shorter value is no secret worth the name, and blacking it out (`ollama`) would spoil every line."""

_NAME = (
    r"(?:(?<![A-Za-z])|(?-i:(?<=[a-z])(?=[A-Z])))"  # where a word begins, also one of camelCase
    r"(?:api|access|refresh|client|app|auth|bot|private|verify|webhook)?[_-]?"
    r"(?:token|key|secret|password|passwd|passphrase|pwd)"
)
_SAID = r"\\?[\"']?\s*[=:]\s*(?:b(?=[\"']))?"
_QUOTED = (
    r"(?:(?<=\\\")(?:\\{3}.|\\(?!\").|[^\"\\\r\n]){4,}"  # JSON inside a text of JSON: what ends the value is \"
    r"|(?<=\\')(?:\\{3}.|\\(?!').|[^'\\\r\n]){4,}"
    r"|(?<!\\\")(?<=\")(?:\\.|[^\"\\\r\n]){4,}"
    r"|(?<!\\')(?<=')(?:\\.|[^'\\\r\n]){4,})"
)
_BARE = r"(?!(?:null|none|true|false)(?:[\s,;&)\]}]|$))[^\s\"'&,;\\]{4,}"
_LISTED = r"[\[{]\s*[\"'][^\]}\r\n]{4,}"
_LOOKS = re.compile(
    rf"(?P<header>\bauthorization{_SAID}(?:[A-Za-z]+\s+)?|\bbearer\s+|\bbasic\s+(?=[A-Za-z0-9+/]{{6,}}=)"
    r")[^\s\"'@,;\\]{4,}"
    r"|(?P<address>://[^\s/@:\"']*:)[^\s/\"]+(?=@)"
    r"|(?P<bot>/bot\d+:)[^\s/\"'?]{4,}"  # Telegram has the token in the path of its addresses
    rf"|(?P<said>(?:{_NAME}|\bauthorization){_SAID}(?:\\?[\"'])?)(?:{_QUOTED}|{_LISTED}|{_BARE})"
    r"|(?<![A-Za-z0-9])(?:sk-|(?-i:AIza))[A-Za-z0-9_-]{8,}"
    r"|(?<!\d)\d{6,}:[A-Za-z0-9_-]{30,}",  # the same token where it stands alone
    re.IGNORECASE,
)
_SECRET_FIELD = re.compile(
    rf".*(?:{_NAME}|(?<![A-Za-z])(?:secrets|passwords|credentials?|authorization|cookie))", re.IGNORECASE | re.DOTALL
)


class Redaction:
    """Blacks out `values` wherever they stand, also as they are written in an address, and what looks like a secret.

    Values of fewer than 8 characters are left alone, unless they look like a secret where they stand.
    """

    def __init__(self, values: Collection[str] = ()) -> None:
        forms = {form for value in values if len(value) >= SHORTEST for form in (value, quote(value, safe=""))}
        # The longest first: one secret may be the beginning of another.
        found = "|".join(re.escape(form) for form in sorted(forms, key=lambda form: (-len(form), form)))
        self._values = re.compile(found) if found else None

    def __call__(self, text: str) -> str:
        """The text without them."""
        return without_secrets(text if self._values is None else self._values.sub(HIDDEN, text))


def without_secrets(text: str) -> str:
    """The text with what looks like a secret blacked out: headers, values of keys and passwords, `sk-…`, `AIza…`.

    A value in quotes goes whole; what names it stays.
    """
    return _LOOKS.sub(lambda match: f"{match[match.lastgroup] if match.lastgroup else ''}{HIDDEN}", text)


def names_a_secret(name: str) -> bool:
    """Whether a field of that name holds a secret: `token`, `OPENAI_API_KEY`, `Authorization`; not `tokens`."""
    return _SECRET_FIELD.fullmatch(name) is not None


def secrets_of(settings: Settings, environment: Mapping[str, str]) -> frozenset[str]:
    """The values of all secrets in the settings, of an address its password, and of the keys found besides."""
    found = {value for secret in _secrets_in(settings) for value in _values_of(secret, environment)}
    found |= {environment[name] for each in KNOWN for name in each.variables if name in environment}
    return frozenset(value.strip() for value in found if value.strip())


def _secrets_in(value: object) -> Iterator[Secret]:
    if isinstance(value, Secret):
        yield value
    elif isinstance(value, Section):
        for name in type(value).model_fields:
            yield from _secrets_in(getattr(value, name))
    elif isinstance(value, tuple | list):
        for each in value:  # pyright: ignore[reportUnknownVariableType] - whatever a setting holds
            yield from _secrets_in(each)  # pyright: ignore[reportUnknownArgumentType] - the same


def _values_of(secret: Secret, environment: Mapping[str, str]) -> Iterator[str]:
    value = secret.resolve(environment)
    if value is None:
        return
    if not isinstance(secret, SecretUrl):
        yield value
        return
    try:
        password = urlsplit(value).password
    except ValueError:  # no address at all: nothing of it is known to be harmless
        yield value
        return
    if password:
        yield from (password, unquote(password))
