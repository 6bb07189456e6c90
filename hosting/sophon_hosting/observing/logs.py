"""The log of a host: where it goes, in which form, and who is told to be quiet."""

import logging
import sys
from collections.abc import Collection, Mapping
from typing import Literal, TextIO

from sophon_hosting.observing.formats import JsonFormatter, TextFormatter
from sophon_hosting.observing.redaction import Redaction
from sophon_hosting.observing.scope import Scoped

Form = Literal["Auto", "Json", "Text"]

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


def set_up_host_logs(
    level: str = "INFO", form: Form = "Auto", stream: TextIO | None = None, *, secrets: Collection[str] = ()
) -> logging.Handler:
    """Log to a stream, standard error by default; `Auto` is text on a terminal and JSON elsewhere.

    `secrets` are blacked out wherever they stand; `secrets_of` has those of the settings. Replaces what was set up
    before, and gives the handler.
    """
    out = stream or sys.stderr
    text = form == "Text" or (form == "Auto" and out.isatty())
    redact = Redaction(secrets)
    handler = logging.StreamHandler(out)
    handler.setFormatter(TextFormatter(redact) if text else JsonFormatter(redact))
    handler.addFilter(Scoped())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for name, least in QUIET.items():
        logging.getLogger(name).setLevel(max(least, logging.getLogger().level))
    return handler
