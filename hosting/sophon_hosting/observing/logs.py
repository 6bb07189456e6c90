"""The log of a host: one JSON object per line for machines, one short line for people."""

import logging
import re
import sys
import traceback
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal, TextIO, cast

import orjson

from sophon_hosting.observing.scope import Scoped

Form = Literal["Auto", "Json", "Text"]

OWN = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "scope", "taskName"}
"""What every record has; the rest was given with `extra=`."""

QUIET: Mapping[str, int] = {
    "engineio": logging.WARNING,
    "socketio": logging.WARNING,
    "sophon.engineio": logging.WARNING,
    "sophon.socketio": logging.WARNING,
    "aiohttp": logging.WARNING,
    "asyncio": logging.WARNING,
    "httpx": logging.WARNING,
    "httpcore": logging.WARNING,
    "LiteLLM": logging.WARNING,
    "litellm": logging.WARNING,
    "sqlalchemy": logging.WARNING,
    "alembic": logging.WARNING,
}
"""Libraries that would tell every step."""

_SECRETS = re.compile(
    r"(?P<kept>\b(?:bearer|basic)\s+|\b(?:token|key|secret|password|api[_-]?key)[\"']?\s*[=:]\s*[\"']?)[^\s\"'&,;]{4,}"
    r"|\bsk-[A-Za-z0-9_-]{8,}",
    re.IGNORECASE,
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def set_up_host_logs(level: str = "INFO", form: Form = "Auto", stream: TextIO | None = None) -> logging.Handler:
    """Log to a stream, standard error by default; `Auto` is text on a terminal and JSON elsewhere.

    Replaces what was set up before, and gives the handler.
    """
    out = stream or sys.stderr
    text = form == "Text" or (form == "Auto" and out.isatty())
    handler = logging.StreamHandler(out)
    handler.setFormatter(TextFormatter() if text else JsonFormatter())
    handler.addFilter(Scoped())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for name, least in QUIET.items():
        logging.getLogger(name).setLevel(max(least, logging.getLogger().level))
    return handler


def without_secrets(text: str) -> str:
    """The text with what looks like a secret blacked out: bearer tokens, values of keys and passwords, `sk-…`."""
    return _SECRETS.sub(lambda match: f"{match['kept'] or ''}***", text)


class JsonFormatter(logging.Formatter):
    """One line per record: `time`, `level`, `logger`, `message`, what it is about, `error` and what came as `extra`."""

    def format(self, record: logging.LogRecord) -> str:
        """Line breaks and control characters are escaped by JSON itself: no line can pass for two."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": without_secrets(record.getMessage()),
            **_scope_of(record),
        }
        if record.exc_info and record.exc_info[1] is not None:
            error = record.exc_info[1]
            stack = "".join(traceback.format_exception(error))
            line["error"] = {
                "type": type(error).__name__,
                "message": without_secrets(str(error)),
                "stack": without_secrets(stack),
            }
        extras = {name: value for name, value in record.__dict__.items() if name not in OWN and name not in line}
        return orjson.dumps({**line, **extras}, default=str, option=orjson.OPT_NON_STR_KEYS).decode()


class TextFormatter(logging.Formatter):
    """Time, level, message, what it is about; a stack below it."""

    def format(self, record: logging.LogRecord) -> str:
        """Control characters are shown as `?`: nothing in a log moves a terminal's cursor."""
        about = " ".join(f"{name}={value}" for name, value in _scope_of(record).items())
        at = datetime.fromtimestamp(record.created).astimezone().strftime("%H:%M:%S")
        line = f"{at} {record.levelname:<7} {without_secrets(record.getMessage())}{'  ' + about if about else ''}"
        if record.exc_info and record.exc_info[1] is not None:
            line += "\n" + without_secrets("".join(traceback.format_exception(record.exc_info[1]))).rstrip()
        return _CONTROLS.sub("?", line)


def _scope_of(record: logging.LogRecord) -> Mapping[str, str]:
    return cast(Mapping[str, str], getattr(record, "scope", {}))
