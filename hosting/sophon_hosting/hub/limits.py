"""Limits of the hub: connections, packet and buffer sizes, timeouts."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HubLimits:
    """Limits of a hub. Times are in seconds, sizes in bytes."""

    max_connections: int = 1000
    """Maximum number of open connections in total."""

    max_unauthenticated_per_address: int = 64
    """Maximum number of unauthenticated connections from one address. Authenticated ones are not counted, because
    behind a proxy all clients share one address.
    """

    handshake_timeout_seconds: float = 10.0
    """Time for which a connection may have no client: before the first namespace connect, and after the last client
    has disconnected.
    """

    max_packet_bytes: int = 1_000_000
    """Maximum size of a client's packet; a larger one closes a WebSocket with 1009, or is a 413 over polling."""

    max_buffered_bytes: int = 4 * 1024 * 1024
    """Maximum buffered data for one slow client; beyond it the client is disconnected, and resumes with `last_seq`."""

    max_ack_bytes: int = 2 * 1024 * 1024
    """Maximum size of one acknowledgement."""

    max_in_flight_packets: int = 8
    max_in_flight_bytes: int = 64 * 1024
    """Maximum data in Engine.IO's queue for one client. A polling client receives all of it in one payload, and clients
    read at most 16 packets per payload.
    """

    stall_timeout_seconds: float = 30.0
    """A client that accepts no buffered data for this time is disconnected."""

    close_timeout_seconds: float = 5.0
    """Time that a closing connection has to end before it is aborted."""
