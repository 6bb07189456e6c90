"""What a line in the log is about: session, task, trace and user of whatever is going on around it."""

import logging
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

_SCOPE: ContextVar[Mapping[str, str]] = ContextVar("sophon_log_scope", default={})  # noqa: B039 - never written to

ATTRIBUTE = "sophon_scope"
"""Of a record; a plainer name would be taken from whoever gives it as `extra`."""


@contextmanager
def log_scope(**about: str | None) -> Generator[None]:
    """Lines that are logged in here, by anybody, carry these fields; what is None or empty is left out."""
    token = _SCOPE.set({**_SCOPE.get(), **{name: value for name, value in about.items() if value}})
    try:
        yield
    finally:
        _SCOPE.reset(token)


def scope() -> Mapping[str, str]:
    """The fields of the scope around."""
    return _SCOPE.get()


class Scoped(logging.Filter):
    """Puts the scope on each record; lets all through."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Takes it in the context in which the line was logged, not in which it is written."""
        setattr(record, ATTRIBUTE, scope())
        return True
