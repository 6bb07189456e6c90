"""Results about the host: the chain, the processes of the group, log lines."""

import logging
from datetime import UTC, datetime
from typing import Any, Literal, cast

from sophon._python.lazy_typed_dict import TypedDict
from sophon_hosting.features.host.log_buffer import LogLine
from sophon_hosting.leadership.host_registry import HostDescription, ProcessRole


class ChainMiddleware(TypedDict):
    """A middleware of the chain."""

    name: str
    zone: Literal["outer", "inner", "any"]


class ChainView(TypedDict):
    """The running chain, as the text of `explain()` and as data."""

    explained: str
    middlewares: list[ChainMiddleware]


class HostView(TypedDict):
    """A live process of the group; `settings` are digests of its settings, `is_this` marks the one that answers."""

    id: str
    role: ProcessRole
    version: str
    queue: str
    started_at: str
    machine: str
    pid: int
    address: str
    turns: int
    duties: list[str]
    settings: dict[str, str]
    is_this: bool


class HostList(TypedDict):
    """The live processes of the group, oldest first."""

    items: list[HostView]


class LogLineView(TypedDict):
    """A line of the log."""

    number: int
    at: str
    level: str
    logger: str
    text: str


class LogPage(TypedDict):
    """Lines of the log, the oldest first, and the number after which to ask next."""

    items: list[LogLineView]
    last: int


def host_to_json(host: HostDescription, *, is_this: bool) -> HostView:
    """Return a live process of the group as JSON."""
    facts: Any = host.to_json()
    return cast(HostView, {**facts, "is_this": is_this})


def log_line_to_json(line: LogLine) -> LogLineView:
    """Return a line of the log as JSON."""
    return {
        "number": line.number,
        "at": datetime.fromtimestamp(line.created, UTC).isoformat(timespec="milliseconds"),
        "level": logging.getLevelName(line.level).lower(),
        "logger": line.logger,
        "text": line.text,
    }
