"""Proxy of a channel: the URL of an HTTP or SOCKS5 proxy, through which all requests to its platform go."""

from collections.abc import Mapping
from importlib.util import find_spec
from urllib.parse import urlsplit

from sophon.extras import install_command
from sophon.settings import Secret
from sophon_channels.errors import ChannelError


def resolve_proxy(
    proxy: Secret | None, environment: Mapping[str, str], section: str, *, socks_package: str
) -> str | None:
    """Return the URL of a proxy, None without one; `socks_package` is what its HTTP client needs for SOCKS5.

    Raises ChannelError if there is no URL, or none that can be used: a proxy that is set must not be left out, as the
    request would show the host's own address.
    """
    if proxy is None:
        return None
    url = proxy.resolve(environment)
    if not url:
        raise ChannelError(f"Channels.{section}.Proxy has no value: {proxy.source_description} is missing or empty")
    if not _is_proxy(url):
        raise ChannelError(
            f"Channels.{section}.Proxy is no proxy: write http://proxy.example:3128 or socks5://proxy.example:1080"
        )
    if is_socks(url) and find_spec(socks_package) is None:
        raise ChannelError(f"Channels.{section}.Proxy needs the package {socks_package}: {install_command('socks')}")
    return url


def is_socks(url: str) -> bool:
    """Return whether the URL of a proxy is one of SOCKS5."""
    return urlsplit(url).scheme == "socks5"


def _is_proxy(url: str) -> bool:
    try:
        parts = urlsplit(url)
        port = parts.port
        return bool(parts.hostname) and (
            parts.scheme in ("http", "https") or (parts.scheme == "socks5" and port is not None)
        )
    except ValueError:  # of a port that is no number
        return False
