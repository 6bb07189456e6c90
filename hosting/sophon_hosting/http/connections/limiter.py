"""Connection limiter: caps in total and per address; a new connection replaces an idle one when a cap is reached."""

from collections.abc import Callable
from typing import Literal, Protocol, TypeAlias

from sophon_hosting.http.connections.limits import ConnectionLimits

RefusalReason: TypeAlias = Literal["total", "address", "replaced", "files"]
"""Why a connection was refused or closed: cap in total, cap per address, replaced by a new one, no free file."""


class LimitedConnection(Protocol):
    """The part of a connection that the limiter uses."""

    @property
    def address(self) -> str:
        """Address that the connection counts for; empty if the cap per address does not apply."""
        ...

    @property
    def is_replaceable(self) -> bool:
        """Whether no complete request is being served, and no response is being sent."""
        ...

    def abort(self) -> None:
        """Close the connection now."""
        ...


class ConnectionLimiter:
    """Admits connections below the caps of `ConnectionLimits`.

    At a cap, a new connection replaces the one that has been idle longest: at the cap per address one of the same
    address, at the total cap one of the address with the most connections, if it has an idle one. So connections that
    are merely held open shut nobody out. If all are busy, the new one is refused. `on_refused` is called with the
    reason.
    """

    def __init__(self, limits: ConnectionLimits, on_refused: Callable[[RefusalReason], None] = lambda _: None) -> None:
        self.limits, self._on_refused = limits, on_refused
        # Ordered by last use, the longest unused first.
        self._open: dict[LimitedConnection, str] = {}
        self._by_address: dict[str, dict[LimitedConnection, None]] = {}

    def __len__(self) -> int:
        return len(self._open)

    def admit(self, connection: LimitedConnection) -> bool:
        """Register a new connection; return False if it must be closed."""
        address = connection.address
        if address and len(self._by_address.get(address, ())) >= self.limits.max_per_address:
            if not self._replace(self._by_address[address]):
                self._on_refused("address")
                return False
        elif len(self._open) >= self.limits.max_connections:
            largest = max(self._by_address.values(), key=len)
            if not self._replace(largest) and not self._replace(self._open):
                self._on_refused("total")
                return False
        self._open[connection] = address
        self._by_address.setdefault(address, {})[connection] = None
        return True

    def touch(self, connection: LimitedConnection) -> None:
        """Note that a request of a connection has ended; the connection becomes the last to be replaced."""
        address = self._open.pop(connection, None)
        if address is None:
            return
        self._open[connection] = address
        peers = self._by_address[address]
        del peers[connection]
        peers[connection] = None

    def release(self, connection: LimitedConnection) -> None:
        """Forget a closed connection."""
        address = self._open.pop(connection, None)
        if address is None:
            return
        peers = self._by_address[address]
        del peers[connection]
        if not peers:
            del self._by_address[address]

    def _replace(self, candidates: "dict[LimitedConnection, None] | dict[LimitedConnection, str]") -> bool:
        """Close the candidate that has been idle longest; return False if none is idle."""
        for connection in candidates:
            if connection.is_replaceable:
                self.release(connection)
                connection.abort()
                self._on_refused("replaced")
                return True
        return False
