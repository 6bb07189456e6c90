"""Log context: session, task, trace and user fields of the log records within a scope (context variable)."""

import logging
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

_CONTEXT: ContextVar[Mapping[str, str]] = ContextVar("sophon_log_scope", default={})  # noqa: B039 - never modified

RECORD_ATTRIBUTE = "sophon_scope"
"""Attribute of a log record; a plainer name could collide with an `extra` field."""


@contextmanager
def log_context(**fields: str | None) -> Generator[None]:
    """Add the fields to all records logged within the block; None and empty values are omitted."""
    token = _CONTEXT.set({**_CONTEXT.get(), **{name: value for name, value in fields.items() if value}})
    try:
        yield
    finally:
        _CONTEXT.reset(token)


def current_log_context() -> Mapping[str, str]:
    """Return the fields of the current context."""
    return _CONTEXT.get()


class LogContextFilter(logging.Filter):
    """Logging filter that attaches the log context to each record and accepts all records."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Attach the context of the logging call, not that of the handler's thread."""
        setattr(record, RECORD_ATTRIBUTE, current_log_context())
        return True
