"""The newest log lines of this process, redacted as those on standard error are, for operators who follow them."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager

from sophon._python.lazy_dataclass import dataclass
from sophon_hosting.observability.jsonable import safe_str, sanitize_text
from sophon_hosting.observability.log_context import LogContextFilter
from sophon_hosting.observability.log_formatters import TextFormatter
from sophon_hosting.observability.log_redaction import LogRedactor

MAX_LINES = 2000
"""Lines that are kept; the oldest one goes first."""

MAX_CHARACTERS = 4000
"""Characters of a line that are kept: a traceback has fewer."""

MAX_NAME_CHARACTERS = 100


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line with its number, which grows by one with each. `created` is in seconds since 1970."""

    number: int
    created: float
    level: int
    logger: str
    text: str


class LogBuffer(logging.Handler):
    """Logging handler that keeps the newest `MAX_LINES` records as text. Thread-safe."""

    def __init__(self, redact: LogRedactor | None = None) -> None:
        super().__init__()
        self.addFilter(LogContextFilter())
        self._text_formatter = TextFormatter(redact)
        self._redact = redact or LogRedactor()
        self._lines: deque[LogLine] = deque(maxlen=MAX_LINES)
        self._last = 0
        self._listeners: set[Callable[[], None]] = set()

    @property
    def last_number(self) -> int:
        """Number of the newest line; 0 without one."""
        return self._last

    @property
    def has_listeners(self) -> bool:
        """Whether somebody waits for a line."""
        return bool(self._listeners)

    def start(self) -> None:
        """Receive the records of all loggers."""
        logging.getLogger().addHandler(self)

    async def stop(self) -> None:
        """Receive no more records."""
        logging.getLogger().removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record; called with the handler's lock held."""
        text = self._text_formatter.format_body(record)
        self._last += 1
        name = sanitize_text(safe_str(record.name), self._redact)[:MAX_NAME_CHARACTERS]
        self._lines.append(
            LogLine(self._last, record.created, _level_number(record.levelno), name, text[:MAX_CHARACTERS])
        )
        for listener in list(self._listeners):
            listener()

    def list_after(self, number: int, *, min_level: int = 0, text: str = "", limit: int = 500) -> list[LogLine]:
        """Return the newest `limit` lines after a number, the oldest first; `text`, in any case, is part of each."""
        self.acquire()
        try:
            lines = list(self._lines)
        finally:
            self.release()
        wanted = text.casefold()
        found = [
            each
            for each in lines
            if each.number > number
            and each.level >= min_level
            and (not wanted or wanted in each.text.casefold() or wanted in each.logger.casefold())
        ]
        return found[-limit:]

    @contextmanager
    def watch(self) -> Generator[asyncio.Event]:
        """Provide an event that is set with the next record, from whichever thread."""
        changed, loop = asyncio.Event(), asyncio.get_running_loop()

        def notice() -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(changed.set)

        self._listeners.add(notice)
        try:
            yield changed
        finally:
            self._listeners.discard(notice)


def _level_number(level: object) -> int:
    """Return the level of a record; whoever makes one may give it anything."""
    return level if isinstance(level, int) else logging.NOTSET
