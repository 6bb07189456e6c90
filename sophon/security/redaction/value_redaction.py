"""Redaction of JSON-like values, such as the arguments of a tool call: texts anywhere in them, by form and by name."""

from collections.abc import Callable, Mapping
from typing import Any, cast

from sophon.security.redaction.known_secrets import KNOWN_SECRETS, MARKER
from sophon.security.redaction.text_redaction import redact
from sophon.security.redaction.url_secrets import is_secret_parameter

MAX_DEPTH = 32
"""Levels of nesting that are looked into; what is deeper is replaced as a whole."""


def redact_values(value: Any) -> Any:
    """Return a copy of JSON-like data with the secrets in its texts replaced.

    A text in a field with the name of a secret is judged as an assignment to that name: `{"password": "hunter22"}`.
    """
    return _rewrite(value, "", 0, redact, _redact_field)


def replace_known_values(value: Any) -> Any:
    """Return a copy of JSON-like data with the known secrets in its texts replaced; the same data if none is known."""
    if not KNOWN_SECRETS.values:
        return value
    return _rewrite(value, "", 0, KNOWN_SECRETS.replace, lambda _, text: KNOWN_SECRETS.replace(text))


def _rewrite(
    value: Any, name: str, depth: int, rewrite_name: Callable[[str], str], rewrite_field: Callable[[str, str], str]
) -> Any:
    """Return a copy with each name of a field, and each text with the name of its field, rewritten."""
    if isinstance(value, str):
        return rewrite_field(name, value)
    if not isinstance(value, Mapping | list | tuple):
        return value
    if depth >= MAX_DEPTH:
        return MARKER
    below = depth + 1
    if isinstance(value, Mapping):
        items = cast("Mapping[object, Any]", value).items()
        return {
            rewrite_name(key) if isinstance(key, str) else key: _rewrite(
                each, str(key), below, rewrite_name, rewrite_field
            )
            for key, each in items
        }
    return [_rewrite(each, name, below, rewrite_name, rewrite_field) for each in cast("list[Any]", value)]


def _redact_field(name: str, text: str) -> str:
    shown = redact(text)
    if shown != text or not name or not is_secret_parameter(name):
        return shown
    assignment = f'"{name}": "'
    return shown if redact(f'{assignment}{text}"') == f'{assignment}{text}"' else MARKER
