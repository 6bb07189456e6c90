"""Addresses of clients, also behind trusted reverse proxies (`Hub.TrustedProxies`)."""

import ipaddress
from collections.abc import Collection
from typing import TypeAlias

from aiohttp import hdrs, web

IpAddress: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

IPV6_PREFIX_BITS = 64
"""Prefix by which IPv6 addresses count as one: a site gets at least this many."""


class TrustedProxies:
    """Reverse proxies whose `X-Forwarded-For` is believed, as addresses or networks."""

    def __init__(self, networks: Collection[str] = ()) -> None:
        self._networks = [ipaddress.ip_network(each) for each in networks]

    def client_address(self, request: web.BaseRequest) -> str:
        """Return the address of the client of a request; see `forwarded_address`."""
        # All lines: a proxy may add its own below the client's instead of extending it. Source: RFC 9110, 5.3.
        lines = request.headers.getall(hdrs.X_FORWARDED_FOR, ())
        return self.forwarded_address(request.remote or "", ",".join(lines))

    def forwarded_address(self, peer: str, forwarded_for: str) -> str:
        """Return the address of a client: the peer, or behind trusted proxies the last address that is none of them.

        Addresses before it could have been written by the client.
        """
        address = peer
        for each in reversed(forwarded_for.split(",")):
            parsed = _parse(address)
            if parsed is None or not self._is_trusted(parsed) or _parse(each) is None:
                break
            address = each.strip()
        return address_group(address)

    def limited_address(self, peername: object) -> str:
        """Return the address by which a peer's connections are capped; empty for loopback and trusted proxies.

        `peername` is the address of a socket. All clients of a reverse proxy share its address.
        """
        if not isinstance(peername, tuple) or not peername:
            return ""
        parsed = _parse(str(peername[0]))  # pyright: ignore[reportUnknownArgumentType] - any element becomes a text
        if parsed is None or parsed.is_loopback or self._is_trusted(parsed):
            return ""
        return address_group(str(parsed))

    def _is_trusted(self, address: IpAddress) -> bool:
        return any(address in network for network in self._networks)


def address_group(address: str) -> str:
    """Return the address by which clients are told apart: an IPv4 address, or the /64 network of an IPv6 address."""
    parsed = _parse(address)
    if isinstance(parsed, ipaddress.IPv6Address) and not parsed.is_loopback:
        return str(ipaddress.ip_network((parsed, IPV6_PREFIX_BITS), strict=False))
    return str(parsed) if parsed is not None else address


def _parse(address: str) -> IpAddress | None:
    try:
        parsed = ipaddress.ip_address(address.strip().partition("%")[0])
    except ValueError:
        return None
    mapped = parsed.ipv4_mapped if isinstance(parsed, ipaddress.IPv6Address) else None
    return mapped or parsed
