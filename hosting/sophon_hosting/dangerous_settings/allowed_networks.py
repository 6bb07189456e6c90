"""Allowed networks (`Tools.AllowCidrs`): which addresses http.request reaches through one, described as text."""

import ipaddress
from typing import TypeAlias

Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

METADATA_ADDRESSES = tuple(
    ipaddress.ip_address(each) for each in ("169.254.169.254", "169.254.170.2", "100.100.100.200", "fd00:ec2::254")
)
"""Addresses at which cloud providers hand out the credentials of a machine."""

LOOPBACK_NETWORKS = (ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("::1/128"))

EMBEDDING_NETWORKS = tuple(
    ipaddress.IPv6Network(each) for each in ("::/96", "::ffff:0:0/96", "64:ff9b::/96", "64:ff9b:1::/96")
)
"""IPv6 networks whose last 32 bits are an IPv4 address: compatible, mapped, NAT64. Sources: RFC 4291, 6052, 8215."""

LINK_LOCAL: dict[int, Network] = {4: ipaddress.ip_network("169.254.0.0/16"), 6: ipaddress.ip_network("fe80::/10")}

MIN_NETWORK_PREFIX = {4: 24, 6: 64}
"""Shortest prefix of a network that counts as narrow, by IP version: one subnet."""


def describe_reached(network: Network) -> str:
    """Return what http.request reaches in an allowed network, "" if it is narrow and harmless.

    Of an IPv6 network the IPv4 addresses count that it contains in a mapped or translated form.
    """
    embedded = find_embedded_network(network)
    if embedded is not None:
        reached = describe_reached(embedded)
        return f"{reached} (as {embedded})" if reached else ""
    if network.prefixlen == 0:
        return "every address: this machine, its network and the cloud's metadata service with its credentials"
    if any(
        address.version == network.version and address in network for address in METADATA_ADDRESSES
    ) or network.overlaps(LINK_LOCAL[network.version]):
        return "the cloud's metadata service, which hands out the machine's credentials"
    if any(each.version == network.version and each.overlaps(network) for each in LOOPBACK_NETWORKS):
        return "the services of this machine, which trust their callers, this host included"
    if network.prefixlen < MIN_NETWORK_PREFIX[network.version]:
        return f"a network of {network.num_addresses:,} private addresses"
    return ""


def find_embedded_network(network: Network) -> ipaddress.IPv4Network | None:
    """Return the IPv4 network that an IPv6 network consists of, None if it is IPv4 or not such a form."""
    if isinstance(network, ipaddress.IPv4Network):
        return None
    for outer in EMBEDDING_NETWORKS:
        if network.overlaps(outer) and not network.overlaps(ipaddress.IPv6Network("::1/128")):
            inner = network if network.subnet_of(outer) else outer
            return ipaddress.IPv4Network((int(inner.network_address) & 0xFFFFFFFF, inner.prefixlen - 96))
    return None
