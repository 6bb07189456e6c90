"""MCP over streamable HTTP: each request has a bearer token of its own, and acts as the user of that token."""

import socket
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any

import uvicorn
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import AnyHttpUrl
from starlette.applications import Starlette

from sophon._python.lazy_dataclass import dataclass
from sophon.clock import SystemClock
from sophon.errors import InputError, SophonError
from sophon.principals import LOCAL_USER
from sophon_hosting.features.mcp.server.server import create_server
from sophon_hosting.operations.client import AsyncClient, HostError, HostUnreachable
from sophon_hosting.operations.current_user import get_current_user

PATH = "/mcp"
SHUTDOWN_SECONDS = 5


@dataclass(frozen=True, slots=True)
class HttpAddress:
    """Where to listen, and which names and origins a request may have besides the address itself."""

    host: str
    port: int
    is_loopback: bool
    allowed_hosts: Sequence[str] = ()
    allowed_origins: Sequence[str] = ()


class HostTokenVerifier:
    """mcp's TokenVerifier: the host judges each token, with each request, so that a revoked one is refused at once."""

    def __init__(self, url: str) -> None:
        self._url = url

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return whose token it is; None if the host refuses it, or does not answer."""
        try:
            async with AsyncClient(self._url, token) as api:
                me = await api.call(get_current_user)
        except SophonError:
            return None
        if me["user"] == LOCAL_USER:  # a host without users takes every token
            return None
        # The digest binds an MCP session to the token that began it, and not only to the user.
        digest = sha256(token.encode()).hexdigest()
        return AccessToken(token=token, client_id=digest, scopes=[], subject=str(me["user"]))


async def serve_http(url: str, address: HttpAddress, on_ready: Callable[[str], None]) -> None:
    """Serve until a signal; `on_ready` receives the URL for clients.

    Raises HostUnreachable, and InputError if a host without users would be offered beyond this machine.
    """
    has_users = await _has_users(url)
    if not has_users and not address.is_loopback:
        raise InputError(f"the host at {url} has no users, so it is offered on this machine only: use 127.0.0.1")
    listening = _bind(address)
    with listening:
        port = int(listening.getsockname()[1])
        name = f"[{address.host}]" if ":" in address.host else address.host
        config = uvicorn.Config(
            build_app(url, address, f"{name}:{port}", has_users=has_users),
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        )
        on_ready(f"http://{name}:{port}{PATH}")
        await uvicorn.Server(config).serve(sockets=[listening])


def build_app(url: str, address: HttpAddress, own_name: str, *, has_users: bool) -> Starlette:
    """Return the ASGI application; `own_name` is the host name and port under which it listens."""
    loopback = [f"{each}:*" for each in ("127.0.0.1", "localhost", "[::1]")] if address.is_loopback else []
    others = [name for each in address.allowed_hosts for name in (each, f"{each}:*")]
    security = TransportSecuritySettings(
        allowed_hosts=[own_name, *loopback, *others], allowed_origins=list(address.allowed_origins)
    )
    issuer = AnyHttpUrl(url)
    app = create_server(lambda ctx: AsyncClient(url, _token_of(ctx) if has_users else None), SystemClock())
    return app.streamable_http_app(
        streamable_http_path=PATH,
        transport_security=security,
        auth=AuthSettings(issuer_url=issuer, resource_server_url=None) if has_users else None,
        token_verifier=HostTokenVerifier(url) if has_users else None,
    )


async def _has_users(url: str) -> bool:
    try:
        async with AsyncClient(url, None) as api:
            await api.call(get_current_user)
    except HostUnreachable:
        raise
    except HostError:
        return True
    return False


def _token_of(ctx: Any) -> str:
    """Return the token of this very request, not that of the one that began the MCP session."""
    request = ctx.request
    access = getattr(request.user, "access_token", None) if request is not None else None
    if access is None:
        raise HostError("unauthorized", "this request has no token")
    return str(access.token)


def _bind(address: HttpAddress) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        return socket.create_server((address.host, address.port), family=family)
    except OSError as error:
        raise InputError(f"cannot listen on {address.host}:{address.port}: {error.strerror or error}") from error
