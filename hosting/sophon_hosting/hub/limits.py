"""What one client may cost the hub, and how long it may take."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of a hub. Times are in seconds, sizes in bytes."""

    connections: int = 1000
    """Open at once, whoever they belong to."""

    strangers_per_address: int = 64
    """Open at once from one address before they have said who they are; those who have are not counted, since behind
    a proxy everybody has the same address.
    """

    handshake_seconds: float = 10.0
    """So long may a connection belong to nobody: before it enters a namespace, and after it has left the last one."""

    packet_bytes: int = 1_000_000
    """Of one packet that a client sends; a larger one closes a WebSocket with 1009 and is a 413 over polling."""

    buffered_bytes: int = 4 * 1024 * 1024
    """Waiting for one client that is slow; with more it is disconnected, and resumes with `last_seq`."""

    answer_bytes: int = 2 * 1024 * 1024
    """Of one acknowledgement."""

    handed_packets: int = 8
    handed_bytes: int = 64 * 1024
    """What Engine.IO has in hand for one client at a time. A polling client takes all of it in one payload, and 16
    packets are the most that clients read.
    """

    stalled_seconds: float = 30.0
    """A client for which something waits takes something in this time, or is disconnected."""

    closing_seconds: float = 5.0
    """A connection that is being closed has so long to end by itself."""
