"""Private servers: whether the server of a provider is one of the user's own, which charges nothing by default."""

import ipaddress
from urllib.parse import urlsplit

PRIVATE_TYPES = frozenset(
    {"docker_model_runner", "hosted_vllm", "lemonade", "llamafile", "lm_studio", "vllm", "xinference"}
)
"""Provider types of litellm for servers that users run themselves."""
_PRIVATE_SUFFIXES = (".localhost", ".local", ".internal", ".lan", ".home.arpa")


def is_private_server(provider_type: str, base_url: str | None) -> bool:
    """Return whether the server runs on this machine or in a private network, judged by its URL; resolves no name."""
    if base_url is None:
        return provider_type in PRIVATE_TYPES
    host = (urlsplit(base_url).hostname or "").rstrip(".").lower()
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        # A name without a dot is found on this machine or in the local network only, as the name of a container is.
        return "." not in host or host.endswith(_PRIVATE_SUFFIXES)
    return address.is_private or address.is_loopback or address.is_link_local
