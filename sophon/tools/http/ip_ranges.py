"""IP address ranges for the SSRF guard: which addresses are public, and the operator's allow list.

Sources: the IANA special-purpose registries for IPv4 and IPv6 (RFC 6890 and successors), RFC 4291 (IPv6 addressing),
RFC 6052 (NAT64), RFC 5214 (ISATAP), and the metadata addresses that the cloud vendors publish. Everything in IPv6 that
is not global unicast (2000::/3) or a NAT64 form of a public IPv4 address is blocked: an address must be known to be
public. `ipaddress.is_global` is not used: it accepts the metadata addresses and the translated forms, and changes
between patch releases of Python.
"""

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from sophon.errors import SettingsError

IpAddress = IPv4Address | IPv6Address
IpNetwork = IPv4Network | IPv6Network

BLOCKED_IPV4_RANGES: tuple[tuple[IPv4Network, str], ...] = tuple(
    (IPv4Network(cidr), why)
    for cidr, why in (
        ("0.0.0.0/8", "this host"),
        ("10.0.0.0/8", "private"),
        ("100.64.0.0/10", "shared address space of carriers"),
        ("127.0.0.0/8", "loopback"),
        ("168.63.129.16/32", "Azure WireServer"),
        ("169.254.0.0/16", "link-local, including cloud metadata"),
        ("172.16.0.0/12", "private"),
        ("192.0.0.0/24", "IETF protocol assignments"),
        ("192.0.2.0/24", "documentation"),
        ("192.88.99.0/24", "6to4 relay"),
        ("192.168.0.0/16", "private"),
        ("198.18.0.0/15", "benchmarking, or a fake-IP proxy"),
        ("198.51.100.0/24", "documentation"),
        ("203.0.113.0/24", "documentation"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "reserved or broadcast"),
    )
)
BLOCKED_IPV6_RANGES: tuple[tuple[IPv6Network, str], ...] = tuple(
    (IPv6Network(cidr), why)
    for cidr, why in (
        ("2001::/32", "Teredo tunnel"),
        ("2001::/23", "IETF protocol assignments, ORCHID"),
        ("2001:db8::/32", "documentation"),
        ("2002::/16", "6to4 tunnel"),
        ("3fff::/20", "documentation"),
    )
)
GLOBAL_UNICAST = IPv6Network("2000::/3")
NAT64 = IPv6Network("64:ff9b::/96")
ISATAP_IDENTIFIERS = frozenset({0x00005EFE, 0x02005EFE})

METADATA_ADDRESSES = frozenset(
    ip_address(text)
    for text in (
        "169.254.169.254",
        "169.254.170.2",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "fd00:ec2::254",
        "fd20:ce::254",
    )
)
"""Cloud metadata addresses, which return credentials; an allow list must name them as /32 or /128."""


def parse_address(text: str) -> IpAddress:
    """Parse an IP address; an IPv4-mapped one becomes the IPv4 address that a socket would connect to.

    Raises ValueError for anything but a plain address, including legacy IPv4 spellings (octal, short, hexadecimal).
    """
    address = ip_address(text)
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    # A mapped address must not have a zone; it is kept unmapped so that `explain_blocked_address` blocks it.
    return address if mapped is None or "%" in text else mapped


def explain_blocked_address(address: IpAddress) -> str | None:
    """Return why `address` is blocked, naming its range; None if it is public."""
    return _explain_ipv4(address) if isinstance(address, IPv4Address) else _explain_ipv6(address)


class AddressAllowList:
    """Allow list of non-public addresses that the operator permits.

    `cidrs` are networks or single addresses in their exact form, without host bits after the prefix. Raises
    SettingsError that names every invalid entry.
    """

    def __init__(self, cidrs: Sequence[str] = ()) -> None:
        networks: list[IpNetwork] = []
        problems: list[str] = []
        for cidr in cidrs:
            try:
                networks.append(ip_network(cidr))
            except ValueError as error:
                problems.append(f"AllowCidrs: {error}; write it as 192.168.1.10/32")
        if problems:
            raise SettingsError(problems)
        self._networks = tuple(networks)

    def allows(self, address: IpAddress) -> bool:
        """Return whether `address` itself is listed; an address embedded in a tunnel or translation does not count."""
        return any(
            address in network and (address not in METADATA_ADDRESSES or network.num_addresses == 1)
            for network in self._networks
        )


def _explain_ipv4(address: IPv4Address) -> str | None:
    return next((f"{address} is {why} ({network})" for network, why in BLOCKED_IPV4_RANGES if address in network), None)


def _explain_ipv6(address: IPv6Address) -> str | None:
    if address.scope_id is not None:
        return f"{address} has a zone, and no public address has one"
    if address.ipv4_mapped is not None:
        return _explain_ipv4(address.ipv4_mapped)
    if address in NAT64:
        inner = _explain_ipv4(_last_32_bits(address))
        return inner and f"{address} is NAT64 for a blocked address: {inner}"
    if address not in GLOBAL_UNICAST:
        return f"{address} is not global unicast ({GLOBAL_UNICAST})"
    if (int(address) >> 32) & 0xFFFFFFFF in ISATAP_IDENTIFIERS and (inner := _explain_ipv4(_last_32_bits(address))):
        return f"{address} is ISATAP for a blocked address: {inner}"
    return next((f"{address} is {why} ({network})" for network, why in BLOCKED_IPV6_RANGES if address in network), None)


def _last_32_bits(address: IPv6Address) -> IPv4Address:
    return IPv4Address(int(address) & 0xFFFFFFFF)
