"""Proxy of a channel: the URL of an HTTP proxy, through which all requests to its platform go."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from sophon.settings import Secret
from sophon_channels.errors import ChannelError


def resolve_proxy(proxy: Secret | None, environment: Mapping[str, str], section: str) -> str | None:
    """Return the URL of a proxy, None without one. Raises ChannelError if it is missing or none of HTTP.

    A proxy that is set and cannot be used must not be left out: the request would show the host's own address.
    """
    if proxy is None:
        return None
    url = proxy.resolve(environment)
    if not url:
        raise ChannelError(f"Channels.{section}.Proxy has no value: {proxy.source_description} is missing or empty")
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ChannelError(
            f"Channels.{section}.Proxy is no HTTP proxy: write http://proxy.example:3128 (for SOCKS, run an HTTP proxy "
            "in front of it)"
        )
    return url
