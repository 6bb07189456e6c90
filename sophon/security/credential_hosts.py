"""Host patterns of credentials: `api.example.com`, `*.example.com`, either with `:port`. Pure."""

from typing import NamedTuple

from sophon._python.lazy_pattern import lazy_pattern

HTTPS_PORT = 443

_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_PATTERN = lazy_pattern(rf"(?P<any>\*\.)?(?P<host>{_LABEL}(?:\.{_LABEL})+)\.?(?::(?P<port>[0-9]{{1,5}}))?")
_NUMBER = lazy_pattern(r"(?:[0-9]+|0x[0-9a-f]*)")
_QUAD = lazy_pattern(r"(?:0|[1-9][0-9]{0,2})(?:\.(?:0|[1-9][0-9]{0,2})){3}")
MAX_HOST_CHARACTERS = 253


class HostPattern(NamedTuple):
    """Pattern of a host and port; with `subdomains` it means every name below `host`, and not `host` itself."""

    host: str
    port: int = HTTPS_PORT
    subdomains: bool = False

    def matches(self, host: str, port: int) -> bool:
        """Return whether a destination is meant; `host` is lower-case ASCII without a trailing dot."""
        if port != self.port:
            return False
        return host.endswith(f".{self.host}") if self.subdomains else host == self.host

    def overlaps(self, other: "HostPattern") -> bool:
        """Return whether a host exists that both patterns mean."""
        if self.port != other.port:
            return False
        if self.subdomains and other.subdomains:
            return f".{self.host}".endswith(f".{other.host}") or f".{other.host}".endswith(f".{self.host}")
        if self.subdomains:
            return self.matches(other.host, other.port)
        return other.matches(self.host, self.port)


def parse_host_pattern(text: str) -> HostPattern:
    """Parse a pattern; raises ValueError with a sentence for a person."""
    if not text.isascii():
        raise ValueError(f"{text!a} is not ASCII; write an international name as it is sent, xn--...")
    found = _PATTERN.fullmatch(text.lower())
    if found is None or len(found["host"]) > MAX_HOST_CHARACTERS:
        raise ValueError(f'{text!r} is not a host; write it as "api.example.com", "*.example.com" or with ":8443"')
    host, subdomains = found["host"], found["any"] is not None
    if _NUMBER.fullmatch(host.rpartition(".")[2]) and (subdomains or not _QUAD.fullmatch(host)):
        raise ValueError(f"{text!r} ends in a number and is not an IPv4 address")
    port = int(found["port"] or HTTPS_PORT)
    if not 1 <= port <= 65535:
        raise ValueError(f"{port} is not a port")
    return HostPattern(host, port, subdomains)
