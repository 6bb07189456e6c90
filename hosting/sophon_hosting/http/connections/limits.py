"""Limits of the TCP connections of the HTTP server, from the settings and the process's limit of open files."""

import math
from typing import Self

from sophon._python.lazy_dataclass import dataclass
from sophon_hosting.settings.hub import HubSettings

try:
    import resource
except ImportError:  # pragma: no cover - Windows has no such limit
    resource = None  # type: ignore[assignment]  # the module does not exist there

MIN_RESERVED_FILES = 64
"""Open files that connections leave free: for the database, model providers, channels, tools, and connections that are
being accepted or closed.
"""

MAX_PER_ADDRESS = 100
"""Connections of one address: an office behind one, and a tenth of what a host takes."""
REQUEST_SECONDS = 20.0
"""Time for the head of a request, and again for its body."""
RESERVED_FILES_SHARE = 0.25
"""Share of the limit of open files that connections leave free, if that is more."""


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Limits of a server's connections; times in seconds."""

    max_connections: int = 1000
    max_per_address: int = MAX_PER_ADDRESS
    """Maximum number of connections of one address; loopback and trusted proxies are exempt, because all clients of a
    reverse proxy share its address.
    """

    request_timeout_seconds: float = REQUEST_SECONDS
    """Time for the head of a request, from connecting or the previous response; then the same time for its body."""

    write_timeout_seconds: float = 60.0
    """A client that reads nothing of a response for this time is disconnected. Longer than the stall timeout of the
    hub, which tells clients how to resume.
    """

    unread_seconds: float = 2.0
    """A connection whose client reads nothing of a response for this time may be replaced by a new one."""

    @classmethod
    def from_settings(cls, hub: HubSettings, file_limit: float) -> Self:
        """Return the limits of `Hub`, below a limit of open files."""
        max_connections = min(hub.max_connections, max_connections_for_files(file_limit))
        return cls(
            max_connections=int(max_connections),
            max_per_address=max(1, min(MAX_PER_ADDRESS, int(max_connections) // 2)),
        )


def max_connections_for_files(file_limit: float) -> float:
    """Return how many connections a process with this limit of open files may have; infinite for no limit."""
    if math.isinf(file_limit):
        return math.inf
    reserved = max(MIN_RESERVED_FILES, file_limit * RESERVED_FILES_SHARE)
    return max(int(file_limit - reserved), int(file_limit * RESERVED_FILES_SHARE), 1)


def read_file_limit() -> float:
    """Return the limit of open files of this process (`ulimit -n`); infinite if there is none."""
    if resource is None:  # pragma: no cover - Windows
        return math.inf
    soft_limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return math.inf if soft_limit == resource.RLIM_INFINITY else soft_limit
