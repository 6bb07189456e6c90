"""Redaction of errors, messages and events; which texts are secret is decided by `sophon.security`.

The core names no rule about secrets. The package installs the function that replaces them, and it is loaded with the
first text.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

Redact: TypeAlias = Callable[[str], str]
"""Returns a text with every secret replaced by a marker, and the rest unchanged."""

_load: Callable[[], Redact] | None = None
_redact: Redact | None = None


def install(load: Callable[[], Redact]) -> None:
    """Set how the function that replaces secrets is loaded; `import sophon` calls this."""
    global _load, _redact
    _load, _redact = load, None


def redact(text: str) -> str:
    """Return the text with every secret replaced; see `sophon.security.redact`."""
    global _redact
    if _redact is None:
        if _load is None:
            raise RuntimeError("nothing that replaces secrets is installed")
        _redact = _load()
    return _redact(text)


class RedactedError(Exception):
    """Base class of errors whose text holds no secret from the moment they are made, wherever it goes from there."""

    def __init__(self, *args: object) -> None:
        super().__init__(*(redact(each) if isinstance(each, str) else each for each in args))


def redact_message(error: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an error payload `{code, message, ...}` with its message redacted."""
    message = error.get("message")
    return {**error, "message": redact(message)} if isinstance(message, str) else error
