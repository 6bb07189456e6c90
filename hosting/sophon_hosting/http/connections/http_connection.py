"""HTTP connection: aiohttp's protocol with admission, a timeout for clients that do not read, and quiet errors.

aiohttp's own timeout for idle connections is the deadline for the head of a request: it closes a connection that has
not sent a complete head since it was opened or since its last response. What aiohttp lacks is here: caps, a timeout for
clients that do not read, and responses to malformed requests without its version.
"""

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from aiohttp import hdrs, web
from aiohttp.streams import StreamReader

from sophon._python.rate_limited_log import RateLimitedLog
from sophon_hosting.http.connections.limiter import ConnectionLimiter
from sophon_hosting.http.error_middleware import is_disconnected
from sophon_hosting.http.response_headers import DEFAULT_HEADERS, SERVER_HEADER

_REFUSAL_TEXT = "too many connections.\n"
_REFUSAL_HEADERS = {
    hdrs.CONNECTION: "close",
    hdrs.RETRY_AFTER: "5",
    hdrs.CONTENT_TYPE: "text/plain",
    hdrs.CONTENT_LENGTH: str(len(_REFUSAL_TEXT)),
    hdrs.SERVER: SERVER_HEADER,
    **DEFAULT_HEADERS,
}
REFUSAL = (
    "\r\n".join(
        ("HTTP/1.1 503 Service Unavailable", *(f"{name}: {value}" for name, value in _REFUSAL_HEADERS.items()), "", "")
    ).encode()
    + _REFUSAL_TEXT.encode()
)
"""Response to a connection beyond the caps."""

MIN_READ_BYTES = 1024
"""A client that reads less of a response between two checks counts as one that reads nothing."""


class HttpConnection(web.RequestHandler):
    """Protocol of one connection.

    `get_address` returns the address that a peer counts for, empty if the cap per address does not apply to it. Options
    of aiohttp's `RequestHandler` are passed on.
    """

    __slots__ = (
        "_content",
        "_limiter",
        "_log",
        "_replaceable",
        "_stall_timer",
        "_stalled_checks",
        "_tcp",
        "_unsent",
        "address",
        "get_address",
    )

    def __init__(
        self,
        server: web.Server,
        limiter: ConnectionLimiter,
        log: RateLimitedLog,
        get_address: Callable[[object], str],
        **options: Any,
    ) -> None:
        super().__init__(server, loop=asyncio.get_running_loop(), **options)
        self._limiter, self._log, self.get_address = limiter, log, get_address
        self.address = ""
        self._content: StreamReader | None = None
        self._replaceable = True
        self._stall_timer: asyncio.TimerHandle | None = None
        # `transport` is None once aiohttp has asked it to close, which it does only when all has been sent.
        self._tcp: asyncio.Transport | None = None
        self._unsent = self._stalled_checks = 0

    @property
    def is_replaceable(self) -> bool:
        """Whether the client owes the rest of a request, does not read, or is owed nothing: see `ConnectionLimiter`."""
        if self.transport is None or self._stalled_checks:
            return True
        if self.transport.get_write_buffer_size():
            return False
        return self._replaceable or (self._content is not None and not self._content.is_eof())

    @contextmanager
    def serving(self, request: web.BaseRequest) -> Generator[None]:
        """Scope in which a request is served: once its body has arrived, the connection is not replaced."""
        self._content, self._replaceable = request.content, False
        try:
            yield
        finally:
            self._content, self._replaceable = None, True
            self._limiter.touch(self)

    @contextmanager
    def replaceable(self) -> Generator[None]:
        """Scope within `serving` in which the connection may be replaced, for example while a refusal is delayed."""
        self._replaceable = True
        try:
            yield
        finally:
            self._replaceable = False

    def abort(self) -> None:
        """Close the connection now and drop unsent data."""
        if self._tcp is not None:
            self._tcp.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Admit the connection, or answer 503 and close it."""
        super().connection_made(transport)
        self._tcp = self.transport
        self.address = self.get_address(transport.get_extra_info("peername"))
        if not self._limiter.admit(self) and self.transport is not None:
            self._log.warning(
                "connections", "refusing a connection: %d are open and busy; see Hub.MaxConnections", len(self._limiter)
            )
            self.transport.write(REFUSAL)
            self.force_close()

    def connection_lost(self, exc: BaseException | None) -> None:
        """Forget the connection."""
        self._limiter.release(self)
        self._stop_stall_timer()
        self._tcp = None
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Start the timeouts of a client that does not read."""
        super().pause_writing()
        self._start_stall_timer()

    def resume_writing(self) -> None:
        """Stop the timeouts: the client has read."""
        self._stop_stall_timer()
        super().resume_writing()

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        """Send the response; what its end leaves unsent is watched, because no data follows that would wait for it."""
        try:
            return await super().finish_response(request, resp, start_time)
        finally:
            self._start_stall_timer()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Return the response to a malformed request; like aiohttp's, but without its version and its log lines.

        Raises ConnectionError if the client has disconnected, which aiohttp ignores.
        """
        if isinstance(exc, ConnectionError) and is_disconnected(request):
            raise exc
        if exc is None or status >= 500:
            response = super().handle_error(request, status, exc, message)
        else:
            self._log.warning("malformed", "malformed request from %s: %s", request.remote, type(exc).__name__)
            response = web.Response(status=status, text="The request is not valid HTTP.\n")
            response.force_close()
        response.headers.update({**DEFAULT_HEADERS, hdrs.SERVER: SERVER_HEADER})
        return response

    def _start_stall_timer(self) -> None:
        if self._tcp is None or self._stall_timer is not None:
            return
        self._unsent = self._tcp.get_write_buffer_size()
        if self._unsent:
            self._stall_timer = self._loop.call_later(self._limiter.limits.unread_seconds, self._check_reading)

    def _stop_stall_timer(self) -> None:
        self._stalled_checks = 0
        if self._stall_timer is not None:
            self._stall_timer.cancel()
            self._stall_timer = None

    def _check_reading(self) -> None:
        """Count the checks in which the client has read nothing; see `ConnectionLimits`."""
        self._stall_timer = None
        unsent = self._tcp.get_write_buffer_size() if self._tcp is not None else 0
        has_read = not unsent or self._unsent - unsent >= MIN_READ_BYTES
        self._stalled_checks = 0 if has_read else self._stalled_checks + 1
        limits = self._limiter.limits
        if self._stalled_checks * limits.unread_seconds >= limits.write_timeout_seconds:
            self.abort()
        else:
            self._start_stall_timer()
