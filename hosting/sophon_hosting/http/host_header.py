"""Check of the Host header against the host's own names; protects against DNS rebinding."""

import ipaddress
from collections.abc import Collection
from urllib.parse import urlsplit

UNKNOWN_HOST_MESSAGE = "the Host header does not name this host; see Hub.AllowedHosts"
LOOPBACK_NAMES = frozenset({"localhost"})


def is_known_host(header: str, bind_host: str, allowed_hosts: Collection[str]) -> bool:
    """Return whether a Host header names this host.

    True for an IP address, `localhost`, the name the host is bound to, and one of `allowed_hosts`, which are names
    (`Hub.AllowedHosts`) or origins (`Hub.AllowedOrigins`). IP addresses are always allowed: DNS rebinding needs a name.
    """
    name = host_name_from_header(header)
    if name is None:
        return False
    if _is_address(name) or name in LOOPBACK_NAMES or name == bind_host.strip("[]").lower():
        return True
    return any(name == (urlsplit(each).hostname if "://" in each else each.lower()) for each in allowed_hosts)


def host_name_from_header(header: str) -> str | None:
    """Return the name in a Host header, without its port; None if the header is invalid or empty."""
    try:
        parts = urlsplit(f"//{header.strip()}")
        _ = parts.port
    except ValueError:
        return None
    if parts.path or parts.query or parts.fragment or parts.username is not None:
        return None
    return parts.hostname


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
