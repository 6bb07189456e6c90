"""Proxies and certificates of the environment, as the usual HTTP clients read them.

`HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` (lower case too; on Windows and macOS the settings of the
system), `SSL_CERT_FILE` and `SSL_CERT_DIR`.
"""

import base64
import os
import ssl
from dataclasses import field
from functools import cache
from urllib.parse import unquote, urlsplit, urlunsplit
from urllib.request import getproxies, proxy_bypass

from sophon._python.lazy_dataclass import dataclass, new_dict
from sophon.errors import ModelError
from sophon.security import hide_url_secrets


@dataclass(frozen=True, slots=True)
class Proxy:
    """HTTP proxy: its URL without user and password, and the headers that authenticate to it."""

    url: str
    headers: dict[str, str] = field(default_factory=new_dict, repr=False)


def find_proxy(url: str) -> Proxy | None:
    """Return the proxy of the environment for a URL, or None. Raises ModelError for a kind that is not supported."""
    parts = urlsplit(url)
    proxies = getproxies()
    address = proxies.get(parts.scheme) or proxies.get("all")
    if not address or not parts.hostname:
        return None
    if proxy_bypass(parts.netloc.rpartition("@")[2]) or proxy_bypass(parts.hostname):  # as `host:port`, and as `::1`
        return None
    return parse_proxy(address)


def parse_proxy(address: str) -> Proxy:
    """Parse a proxy's URL; one without a scheme is `http`. Raises ModelError for a SOCKS proxy and other kinds."""
    address = address.strip()
    parts = urlsplit(address if "://" in address else f"http://{address}")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ModelError(
            f"the proxy {hide_url_secrets(address)} of the environment cannot be used: its URL must begin with http://"
            " or https://; correct HTTPS_PROXY, HTTP_PROXY or ALL_PROXY, or name the provider's host in NO_PROXY"
        )
    headers: dict[str, str] = {}
    if parts.username is not None:
        headers["Proxy-Authorization"] = basic_authorization(parts.username, parts.password or "")
    return Proxy(urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", "")), headers)


def basic_authorization(user: str, password: str) -> str:
    """Return the value of an authorization header from the percent-encoded user and password of a URL."""
    pair = f"{unquote(user)}:{unquote(password)}"
    return f"Basic {base64.b64encode(pair.encode()).decode()}"


@cache
def tls_context() -> ssl.SSLContext:
    """Create the TLS context once per process; it takes tens of milliseconds, so call it in a worker thread.

    Trusted are the certificates in `SSL_CERT_FILE`, else `SSL_CERT_DIR`, else those of the package certifi.
    """
    import certifi  # lazy: needed only by a host with a real provider

    if file := os.environ.get("SSL_CERT_FILE"):
        context = ssl.create_default_context(cafile=file)
    elif folder := os.environ.get("SSL_CERT_DIR"):
        context = ssl.create_default_context(capath=folder)
    else:
        context = ssl.create_default_context(cafile=certifi.where())
    context.set_alpn_protocols(["http/1.1"])
    return context
