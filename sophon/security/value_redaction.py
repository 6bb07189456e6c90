"""Redaction of JSON-like values, such as the arguments of a tool call: texts anywhere in them, by form and by name."""

from collections.abc import Mapping
from typing import Any, cast

from sophon.security.known_secrets import KNOWN_SECRETS, MARKER
from sophon.security.redaction import redact
from sophon.security.url_secrets import is_secret_parameter

MAX_DEPTH = 32
"""Levels of nesting that are looked into; what is deeper is replaced as a whole."""


def redact_values(value: Any) -> Any:
    """Return a copy of JSON-like data with the secrets in its texts replaced.

    A text in a field with the name of a secret is judged as an assignment to that name: `{"password": "hunter22"}`.
    """
    return _redact_value(value, "", 0)


def replace_known_values(value: Any) -> Any:
    """Return a copy of JSON-like data with the known secrets in its texts replaced; the same data if none is known."""
    return _replace_known(value, 0) if KNOWN_SECRETS.snapshot() else value


def _replace_known(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return KNOWN_SECRETS.replace(value)
    if not isinstance(value, Mapping | list | tuple):
        return value
    if depth >= MAX_DEPTH:
        return MARKER
    if isinstance(value, Mapping):
        items = cast("Mapping[object, Any]", value).items()
        return {
            KNOWN_SECRETS.replace(key) if isinstance(key, str) else key: _replace_known(each, depth + 1)
            for key, each in items
        }
    return [_replace_known(each, depth + 1) for each in cast("list[Any]", value)]


def _redact_value(value: Any, name: str, depth: int) -> Any:
    if isinstance(value, str):
        return _redact_field(name, value)
    if not isinstance(value, Mapping | list | tuple):
        return value
    if depth >= MAX_DEPTH:
        return MARKER
    if isinstance(value, Mapping):
        items = cast("Mapping[object, Any]", value).items()
        return {_redact_name(key): _redact_value(each, str(key), depth + 1) for key, each in items}
    return [_redact_value(each, name, depth + 1) for each in cast("list[Any]", value)]


def _redact_name(key: object) -> object:
    return redact(key) if isinstance(key, str) else key


def _redact_field(name: str, text: str) -> str:
    shown = redact(text)
    if shown != text or not name or not is_secret_parameter(name):
        return shown
    assignment = f'"{name}": "'
    return shown if redact(f'{assignment}{text}"') == f'{assignment}{text}"' else MARKER
