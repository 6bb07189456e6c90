"""Limits of the hub: connections, packet and buffer sizes, timeouts."""

from typing import Self

from sophon._python.lazy_dataclass import dataclass

CONNECTIONS_SHARE = 4
"""One user, and one address that has not authenticated, may have one in so many of all connections."""


@dataclass(frozen=True, slots=True)
class HubLimits:
    """Limits of a hub. Times are in seconds, sizes in bytes."""

    max_connections: int = 1000
    """Maximum number of open connections in total."""

    max_unauthenticated_per_address: int = 64
    """Maximum number of unauthenticated connections from one address; a further one closes the oldest. Authenticated
    ones are not counted, because behind a proxy all clients share one address.
    """

    max_connections_per_user: int = 200
    """Maximum number of clients of one user; a further one is refused. See `for_connections`."""

    handshake_timeout_seconds: float = 10.0
    """Time for which a connection may have no client: before the first namespace connect, and after the last client
    has disconnected.
    """

    max_packet_bytes: int = 1_000_000
    """Maximum size of a client's packet; a larger one closes a WebSocket with 1009, or is a 413 over polling."""

    max_buffered_bytes: int = 4 * 1024 * 1024
    """Maximum buffered data for one slow client; beyond it the client is disconnected, and resumes with `last_seq`."""

    max_total_buffered_bytes: int = 32 * 1024 * 1024
    """Maximum buffered data for all clients together; beyond it the client with the largest part of it is disconnected.
    An event for which several clients wait counts once.
    """

    max_ack_bytes: int = 1_000_000
    """Maximum size of one acknowledgement: what every client accepts as a frame."""

    max_in_flight_packets: int = 8
    max_in_flight_bytes: int = 64 * 1024
    """Maximum data in Engine.IO's queue for one client. A polling client receives all of it in one payload, and clients
    read at most 16 packets per payload.
    """

    stall_timeout_seconds: float = 30.0
    """A client that accepts no buffered data for this time is disconnected."""

    close_timeout_seconds: float = 5.0
    """Time that a closing connection has to end before it is aborted."""

    @classmethod
    def for_connections(cls, max_connections: int) -> Self:
        """Return the limits of a server that accepts at most this many connections."""
        default, share = cls(), max(1, max_connections // CONNECTIONS_SHARE)
        return cls(
            max_connections=max_connections,
            max_unauthenticated_per_address=min(default.max_unauthenticated_per_address, share),
            max_connections_per_user=min(default.max_connections_per_user, share),
        )
