"""Log context: session, task, trace and user fields of the log records within a scope (context variable)."""

import logging
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

_CONTEXT: ContextVar[Mapping[str, str]] = ContextVar("sophon_log_scope", default={})  # noqa: B039 - never modified

RECORD_ATTRIBUTE = "sophon_scope"
"""Attribute of a log record; a plainer name could collide with an `extra` field."""

OFF_THE_RECORD = "off_the_record"
"""Context field of conversations off the record: of their log records nothing is written but what the code says."""

OWN_LOGGERS = "sophon"
"""Loggers whose messages are constant texts; what belongs to a turn is in their arguments."""

_STANDARD_ATTRIBUTES = frozenset(logging.makeLogRecord({}).__dict__)


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
    """Logging filter that attaches the log context to each record and accepts all records.

    Records of conversations off the record lose their arguments, extra fields and the message and traceback of an
    error, and those of libraries their message, too: any of them may quote what was said.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Attach the context of the logging call, not that of the handler's thread."""
        context = current_log_context()
        if OFF_THE_RECORD in context:
            remove_details(record)
            context = {OFF_THE_RECORD: context[OFF_THE_RECORD]}
        setattr(record, RECORD_ATTRIBUTE, context)
        return True


def remove_details(record: logging.LogRecord) -> None:
    """Reduce a log record to its level, its logger, its constant text and the type of its error."""
    is_own = record.name == OWN_LOGGERS or record.name.startswith(f"{OWN_LOGGERS}.")
    text = str(record.msg) if is_own else f"a message of {record.name}"
    kind = record.exc_info[0] if record.exc_info else None
    record.msg = text if kind is None else f"{text} ({kind.__name__})"
    record.args, record.exc_info, record.exc_text, record.stack_info = None, None, None, None
    for name in set(record.__dict__) - _STANDARD_ATTRIBUTES:
        delattr(record, name)
