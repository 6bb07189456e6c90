"""Logging setup of a host: stream, format, redaction and log levels of libraries."""

import logging
import sys
from collections.abc import Collection, Mapping
from typing import Literal, TextIO

from sophon_hosting.observability.log_context import LogContextFilter
from sophon_hosting.observability.log_formatters import JsonFormatter, TextFormatter
from sophon_hosting.observability.log_redaction import LogRedactor

LogFormat = Literal["Auto", "Json", "Text"]
"""Format of log lines."""

LIBRARY_LOG_LEVELS: Mapping[str, int] = {
    "engineio": logging.WARNING,
    "socketio": logging.WARNING,
    "sophon.engineio": logging.WARNING,
    "sophon.socketio": logging.WARNING,
    "aiohttp": logging.WARNING,
    "asyncio": logging.WARNING,
    "aio_pika": logging.CRITICAL,
    "aiormq": logging.CRITICAL,
    "httpx": logging.WARNING,
    "httpcore": logging.WARNING,
    "LiteLLM": logging.WARNING,
    "litellm": logging.WARNING,
    "sqlalchemy": logging.WARNING,
    "alembic": logging.WARNING,
}
"""Minimum log levels of verbose libraries.

Those of RabbitMQ log every attempt to connect, with tracebacks, and raise the same error, which `QueueHealth` reports
once per outage.
"""


def configure_logging(
    level: str = "INFO", log_format: LogFormat = "Auto", stream: TextIO | None = None, *, secrets: Collection[str] = ()
) -> logging.Handler:
    """Configure the root logger; replace the previous configuration and return the new handler.

    `stream` is standard error by default; `Auto` is text on a terminal and JSON elsewhere. `secrets` are redacted
    everywhere; `collect_secrets` returns those of the settings.
    """
    out = stream or sys.stderr
    text = log_format == "Text" or (log_format == "Auto" and out.isatty())
    redact = LogRedactor(secrets)
    handler = logging.StreamHandler(out)
    handler.setFormatter(TextFormatter(redact) if text else JsonFormatter(redact))
    handler.addFilter(LogContextFilter())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for name, min_level in LIBRARY_LOG_LEVELS.items():
        logging.getLogger(name).setLevel(max(min_level, logging.getLogger().level))
    return handler
