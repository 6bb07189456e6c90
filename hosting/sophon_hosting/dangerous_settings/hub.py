"""Dangerous settings of the web server: who reaches it, and whom it takes them for."""

import ipaddress
from collections.abc import Iterator

from sophon.settings import Settings
from sophon_hosting.dangerous_settings.catalog import DangerousSetting
from sophon_hosting.settings.hub import HubSettings, is_loopback
from sophon_hosting.settings.user_ids import find_look_alikes

MIN_PROXY_PREFIX = {4: 16, 6: 48}
"""Shortest prefix of a network of reverse proxies, by IP version: a container network, not an internet."""


def find_in_hub(settings: Settings) -> Iterator[DangerousSetting]:
    """Yield the dangerous settings of `Hub`."""
    hub = settings.section(HubSettings)
    for first, second in find_look_alikes([user.id for user in hub.users]):
        yield DangerousSetting(
            "look_alike_users",
            f"Hub.Users {second}",
            f"its id looks like that of {first}, so a person may take one of them for the other",
            "choose ids that differ in more than case or alphabet",
        )
    if "*" in hub.allowed_origins:
        yield DangerousSetting(
            "any_origin",
            "Hub.AllowedOrigins *",
            "every web page that somebody opens may talk to this host from their browser",
            "list the origins of your own pages",
        )
    elif hub.allowed_origins and not hub.users:
        yield DangerousSetting(
            "origin_without_users",
            "Hub.AllowedOrigins without Hub.Users",
            f"a page of {', '.join(hub.allowed_origins)} acts as an operator of this host, without a token",
            "add Hub.Users",
        )
    if hub.allowed_hosts and not hub.users:
        yield DangerousSetting(
            "proxied_without_users",
            "Hub.AllowedHosts without Hub.Users",
            "whoever reaches this host through a proxy is an operator, without a token",
            "add Hub.Users",
        )
    elif "*" in hub.allowed_hosts:
        yield DangerousSetting(
            "host_wildcard",
            "Hub.AllowedHosts *",
            "it names no host: only the exact names in this list are accepted, so nothing is let in by it",
            "list the names under which clients reach this host",
        )
    for network in map(ipaddress.ip_network, hub.trusted_proxies):
        if network.prefixlen < MIN_PROXY_PREFIX[network.version]:
            yield DangerousSetting(
                "wide_trusted_proxies",
                f"Hub.TrustedProxies {network}",
                "clients in this network choose the address that counts as theirs, which switches off the protection "
                "against guessing tokens and the limit of connections per address",
                "name the addresses of your own proxies, such as 10.0.0.5/32",
            )
    if hub.open_ai_api and not hub.users:
        yield DangerousSetting(
            "openai_api_without_users",
            "Hub.OpenAiApi without Hub.Users",
            "every program and account of this machine has turns run with your models and tools, without a token",
            "add Hub.Users",
        )
    if hub.users and not is_loopback(hub.host):
        yield DangerousSetting(
            "plain_http_network",
            f"Hub.Host {hub.host}",
            "tokens and conversations cross the network unencrypted, unless a proxy in front of this host has TLS",
            "listen on 127.0.0.1 behind such a proxy",
        )


def find_in_issuers(settings: Settings) -> Iterator[DangerousSetting]:
    """Yield the dangerous settings of `Hub.Issuers`."""
    for index, issuer in enumerate(settings.section(HubSettings).issuers):
        if issuer.algorithm == "HS256":
            yield DangerousSetting(
                "shared_issuer_secret",
                f"Hub.Issuers[{index}].Algorithm HS256",
                "every service that checks tokens with this shared secret can also make them, for any user",
                "have the issuer sign with a private key, and use RS256, ES256 or EdDSA",
            )
