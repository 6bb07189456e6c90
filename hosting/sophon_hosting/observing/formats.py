"""One record of a log as a line: a JSON object for machines, a short text for people."""

import logging
import re
import traceback
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, cast

import orjson

from sophon_hosting.observing.plain import clean, plain, told
from sophon_hosting.observing.redaction import HIDDEN, Redaction, names_a_secret
from sophon_hosting.observing.scope import ATTRIBUTE

OWN = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName", ATTRIBUTE}
"""What every record has; the rest was given with `extra=`."""

_ACTING = (
    "\x7f-\x9f"  # delete, and the control characters of Latin-1: one of them begins an escape sequence
    "\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # bidi, invisible, line separators
    "\U000e0000-\U000e007f"  # tags: invisible ASCII
)
_BEYOND_JSON = re.compile(f"[{_ACTING}]")
_BEYOND_TEXT = re.compile(f"[\x00-\x08\x0b-\x1f{_ACTING}]")


class JsonFormatter(logging.Formatter):
    """One line per record: `time`, `level`, `logger`, `message`, what it is about, `error`, `stack` and what came as
    `extra`. Never raises, whatever is logged.
    """

    def __init__(self, redact: Redaction | None = None) -> None:
        super().__init__()
        self._redact = redact or Redaction()

    def format(self, record: logging.LogRecord) -> str:
        """Whatever would act on a terminal or begin a new line is escaped: no record can pass for two."""
        redact = self._redact
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": clean(record.name, redact),
            "message": clean(message_of(record), redact),
        }
        line.update(
            {clean(name, redact): clean(value, redact) for name, value in _scope_of(record).items() if name not in line}
        )
        error = _error_of(record)
        if error is not None:
            line["error"] = {
                "type": type(error).__name__,
                "message": clean(told(error), redact),
                "stack": clean(_stack_of(error), redact),
            }
        if record.stack_info:
            line["stack"] = clean(record.stack_info, redact)
        for name, value in ((told(name), value) for name, value in record.__dict__.items()):
            if name not in OWN and name not in line:
                line[clean(name, redact)] = HIDDEN if names_a_secret(name) and value else plain(value, redact)
        return _BEYOND_JSON.sub(_escaped, orjson.dumps(line).decode())


class TextFormatter(logging.Formatter):
    """Time, level, message, what it is about; further lines of it, and a stack, are set in. Never raises."""

    def __init__(self, redact: Redaction | None = None) -> None:
        super().__init__()
        self._redact = redact or Redaction()

    def format(self, record: logging.LogRecord) -> str:
        """What would act on a terminal is shown as `?`, and only a record begins at the edge."""
        redact = self._redact
        about = clean(" ".join(f"{name}={value}" for name, value in _scope_of(record).items()), redact)
        at = datetime.fromtimestamp(record.created).astimezone().strftime("%H:%M:%S")
        message = clean(message_of(record), redact)
        parts = [f"{at} {record.levelname:<7} {message}{'  ' + about if about else ''}"]
        error = _error_of(record)
        if error is not None:
            parts.append(clean(_stack_of(error).rstrip(), redact))
        if record.stack_info:
            parts.append(clean(record.stack_info, redact))
        return _BEYOND_TEXT.sub("?", "\n".join(parts)).replace("\n", "\n    ")


def message_of(record: logging.LogRecord) -> str:
    """The message with its arguments in it; where they do not fit it, the two side by side."""
    try:
        return record.getMessage()
    except Exception:  # noqa: BLE001 - the mistake of whoever logs must not cost the line
        return f"{told(record.msg)} (its arguments do not fit: {told(record.args)})"


def _scope_of(record: logging.LogRecord) -> dict[str, str]:
    """As text, whatever it is: nobody is kept from giving an `extra` of that name where no filter stands."""
    found: object = getattr(record, ATTRIBUTE, None)
    if not isinstance(found, Mapping):
        return {}
    return {told(name): told(value) for name, value in cast(Mapping[object, object], found).items()}


def _error_of(record: logging.LogRecord) -> BaseException | None:
    return record.exc_info[1] if record.exc_info else None


def _stack_of(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))


def _escaped(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
