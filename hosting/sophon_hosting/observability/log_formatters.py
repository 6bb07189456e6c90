"""Log formatters: one JSON object per line for machines, or short text for people."""

import logging
import re
import traceback
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, cast

import orjson

from sophon_hosting.observability.jsonable import safe_str, sanitize_text, to_jsonable
from sophon_hosting.observability.log_context import RECORD_ATTRIBUTE
from sophon_hosting.observability.log_redaction import REDACTION_MARKER, LogRedactor, is_secret_name

STANDARD_ATTRIBUTES = frozenset(logging.makeLogRecord({}).__dict__) | {
    "message",
    "asctime",
    "taskName",
    RECORD_ATTRIBUTE,
}
"""Attributes of every log record; all others were passed with `extra=`."""

_CONTROL_CHARACTERS = (
    "\x7f-\x9f"  # DEL and the C1 control characters; CSI starts an escape sequence
    "\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # bidi, invisible, line separators
    "\U000e0000-\U000e007f"  # tags: invisible ASCII
)
_UNSAFE_IN_JSON = re.compile(f"[{_CONTROL_CHARACTERS}]")
_UNSAFE_IN_TEXT = re.compile(f"[\x00-\x08\x0b-\x1f{_CONTROL_CHARACTERS}]")


class JsonFormatter(logging.Formatter):
    """JSON formatter: one line with `time`, `level`, `logger`, `message`, context fields, `error`, `stack` and `extra`.

    Never raises, whatever is logged.
    """

    def __init__(self, redact: LogRedactor | None = None) -> None:
        super().__init__()
        self._redact = redact or LogRedactor()

    def format(self, record: logging.LogRecord) -> str:
        """Return the line; control characters and line breaks are escaped, so that no record imitates another."""
        redact = self._redact
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": sanitize_text(record.name, redact),
            "message": sanitize_text(format_message(record), redact),
        }
        line.update(
            {
                sanitize_text(name, redact): sanitize_text(value, redact)
                for name, value in _context_fields(record).items()
                if name not in line
            }
        )
        error = _exception(record)
        if error is not None:
            line["error"] = {
                "type": type(error).__name__,
                "message": sanitize_text(safe_str(error), redact),
                "stack": sanitize_text(_format_traceback(error), redact),
            }
        if record.stack_info:
            line["stack"] = sanitize_text(record.stack_info, redact)
        for name, value in ((safe_str(name), value) for name, value in record.__dict__.items()):
            if name not in STANDARD_ATTRIBUTES and name not in line:
                line[sanitize_text(name, redact)] = (
                    REDACTION_MARKER if is_secret_name(name) and value else to_jsonable(value, redact)
                )
        return _UNSAFE_IN_JSON.sub(_escape, orjson.dumps(line).decode())


class TextFormatter(logging.Formatter):
    """Text formatter: time, level, message, context fields; continuation lines are indented. Never raises."""

    def __init__(self, redact: LogRedactor | None = None) -> None:
        super().__init__()
        self._redact = redact or LogRedactor()

    def format(self, record: logging.LogRecord) -> str:
        """Return the text; control characters become `?`, and only the first line of a record is not indented."""
        at = datetime.fromtimestamp(record.created).astimezone().strftime("%H:%M:%S")
        return f"{at} {record.levelname:<7} {self.format_body(record)}"

    def format_body(self, record: logging.LogRecord) -> str:
        """Return the text without time and level."""
        redact = self._redact
        context_text = sanitize_text(
            " ".join(f"{name}={value}" for name, value in _context_fields(record).items()), redact
        )
        message = sanitize_text(format_message(record), redact)
        parts = [f"{message}{'  ' + context_text if context_text else ''}"]
        error = _exception(record)
        if error is not None:
            parts.append(sanitize_text(_format_traceback(error).rstrip(), redact))
        if record.stack_info:
            parts.append(sanitize_text(record.stack_info, redact))
        return _UNSAFE_IN_TEXT.sub("?", "\n".join(parts)).replace("\n", "\n    ")


def format_message(record: logging.LogRecord) -> str:
    """Return the message with its arguments; if formatting fails, both side by side."""
    try:
        return record.getMessage()
    except Exception:  # noqa: BLE001 - a wrong logging call must not lose the record
        return f"{safe_str(record.msg)} (formatting failed; arguments: {safe_str(record.args)})"


def _context_fields(record: logging.LogRecord) -> dict[str, str]:
    """Return the context fields as text; a caller may have passed any value as `extra` of that name."""
    value: object = getattr(record, RECORD_ATTRIBUTE, None)
    if not isinstance(value, Mapping):
        return {}
    return {safe_str(name): safe_str(value) for name, value in cast(Mapping[object, object], value).items()}


def _exception(record: logging.LogRecord) -> BaseException | None:
    return record.exc_info[1] if record.exc_info else None


def _format_traceback(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))


def _escape(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
