"""The names under which a host answers: against pages that point a name of their own at it."""

import ipaddress
from collections.abc import Collection
from urllib.parse import urlsplit

NAMELESS = "this is not a name of this host; see Hub.AllowedHosts"
LOOPBACK = frozenset({"localhost"})


def is_known(asked: str, bound: str, others: Collection[str]) -> bool:
    """Whether a Host header names this host: an address, `localhost`, what it is bound to, or one of `others`, which
    are names (`Hub.AllowedHosts`) or origins (`Hub.AllowedOrigins`).

    An address needs no list: nobody can point somebody else's address anywhere.
    """
    name = name_in(asked)
    if name is None:
        return False
    if _is_address(name) or name in LOOPBACK or name == bound.strip("[]").lower():
        return True
    return any(name == (urlsplit(each).hostname if "://" in each else each.lower()) for each in others)


def name_in(header: str) -> str | None:
    """The name in a Host header, without its port; None if there is none."""
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
