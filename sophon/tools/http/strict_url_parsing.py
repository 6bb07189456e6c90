"""URL parsing for the SSRF guard: the origin as the HTTP client parses it; ambiguous URLs are rejected.

The host comes from httpx.URL, the parser of the client that connects. Anything that is known to make parsers disagree
is rejected first: control characters, backslashes, userinfo, percent signs in the host, missing or extra slashes, IPv4
addresses in any form but four decimal numbers. Source of the number rule: WHATWG URL, "ends in a number"; of the
private names: RFC 6761, RFC 6762 with appendix G, RFC 8375, and the /etc/hosts files of Debian and Red Hat.
"""

import re
import unicodedata
from urllib.parse import urljoin

from sophon._python.lazy_dataclass import dataclass
from sophon._python.lazy_pattern import lazy_pattern

DEFAULT_PORTS = {"http": 80, "https": 443}
MAX_HOST_NAME_LENGTH = 253
PRIVATE_SUFFIXES = (
    "localhost",
    "localdomain",
    "localdomain4",
    "localdomain6",
    "local",
    "internal",
    "intranet",
    "private",
    "corp",
    "home",
    "lan",
    "svc",
    "home.arpa",
    "metadata.goog",
)

# re.ASCII, because IGNORECASE alone matches a long s as an s.
_SHAPE = lazy_pattern(r"https?://(?P<authority>[^/?#]+)(?P<rest>.*)", re.ASCII | re.IGNORECASE | re.DOTALL)
_HOST_AND_PORT = lazy_pattern(r"(?P<host>\[[^\[\]]*\]|[^:\[\]]+)(?::(?P<port>[0-9]{0,5}))?")
_LABEL = lazy_pattern(r"[a-z0-9_-]{1,63}")
_NUMBER = lazy_pattern(r"[0-9]+|0x[0-9a-f]*")
_QUAD = lazy_pattern(r"(?:0|[1-9][0-9]{0,2})(?:\.(?:0|[1-9][0-9]{0,2})){3}")
_SCHEME = lazy_pattern(r"[A-Za-z][A-Za-z0-9+.-]*:")
_ANY_DOT = lazy_pattern("[.\u3002\uff0e\uff61]")


class InvalidUrl(ValueError):
    """A URL that is malformed or ambiguous between parsers; the message gives the reason."""


@dataclass(frozen=True, slots=True)
class UrlOrigin:
    """Origin of a URL: `host` in lower-case ASCII, without brackets and without a trailing dot."""

    scheme: str
    host: str
    port: int
    is_address: bool


def parse_origin(url: str) -> UrlOrigin:
    """Parse the origin of an http or https URL; raises InvalidUrl."""
    _reject_ambiguous_characters(url)
    shape = _SHAPE.fullmatch(url)
    if shape is None:
        raise InvalidUrl("it is not an http:// or https:// URL with a host")
    host_text, port_text = _split_authority(shape["authority"], shape["rest"])
    scheme, host = _parse_with_client(url)
    port = int(port_text) if port_text else DEFAULT_PORTS[scheme]
    if not 1 <= port <= 65535:
        raise InvalidUrl(f"{port} is not a port")
    if host_text.startswith("["):
        return UrlOrigin(scheme, host, port, is_address=True)
    name = host.removesuffix(".")
    _reject_ambiguous_name(name, host_text)
    is_address = _check_ipv4_form(name, host_text)
    return UrlOrigin(scheme, name, port, is_address=is_address)


def explain_private_name(host: str) -> str | None:
    """Return why a host name is private, independent of its addresses; None if it may be resolved."""
    if "." not in host:
        return f"{host!r} is a name of the local network: it has no dot"
    dotted = f".{host}"
    return next(
        (
            f"{host!r} ends in the private suffix .{suffix}"
            for suffix in PRIVATE_SUFFIXES
            if dotted.endswith(f".{suffix}")
        ),
        None,
    )


def resolve_location(base: str, location: str) -> str:
    """Resolve a Location header against `base`; a malformed location is returned unchanged, to be rejected."""
    if _SCHEME.match(location) or location != location.strip() or "\\" in location:
        return location
    if location.startswith("//"):
        return base[: base.index(":") + 1] + location
    if any(unicodedata.category(char) == "Cc" for char in location):
        return location
    return urljoin(base, location)


def _reject_ambiguous_characters(url: str) -> None:
    if url != url.strip():
        raise InvalidUrl("it begins or ends with white space")
    if "\\" in url:
        raise InvalidUrl("it has a backslash, which some parsers treat as a slash; write %5C")
    if any(unicodedata.category(char) == "Cc" for char in url):
        raise InvalidUrl("it has a control character")


def _split_authority(authority: str, rest: str) -> tuple[str, str | None]:
    # Old parsers end the authority only at the first slash, so the host would be the text after the last @.
    if "@" in authority + rest.partition("/")[0]:
        raise InvalidUrl("it has an @ before the path; user names and passwords in a URL are not allowed")
    if any(char.isspace() for char in authority):
        raise InvalidUrl("it has white space in the host")
    parts = _HOST_AND_PORT.fullmatch(authority)
    if parts is None:
        raise InvalidUrl(f"{authority!r} is not a host with an optional port")
    if "%" in parts["host"] and not parts["host"].startswith("["):
        raise InvalidUrl("it has a percent sign in the host")
    return parts["host"], parts["port"]


def _parse_with_client(url: str) -> tuple[str, str]:
    import httpx  # lazy: it is heavy, and `import sophon` must stay fast

    try:
        parsed = httpx.URL(url)
        return parsed.scheme, parsed.raw_host.decode("ascii")
    except (httpx.InvalidURL, ValueError) as error:
        raise InvalidUrl(f"the HTTP client cannot parse it: {str(error)!a}") from None


def _reject_ambiguous_name(name: str, written: str) -> None:
    labels = name.split(".")
    if len(name) > MAX_HOST_NAME_LENGTH or not all(map(_LABEL.fullmatch, labels)):
        raise InvalidUrl(f"{written!a} is not a host name")
    if written.isascii():
        if written.lower().removesuffix(".") != name:
            raise InvalidUrl(f"parsers disagree about the host {written!r}")
        return
    for before, after in zip(_ANY_DOT.split(written), labels, strict=False):
        if not before.isascii() and not after.startswith("xn--"):
            raise InvalidUrl(f"{before!a} is a variant spelling of {after!r}")


def _check_ipv4_form(name: str, written: str) -> bool:
    """Return whether the host is an IPv4 address; raises InvalidUrl for any form but four decimal numbers."""
    if _NUMBER.fullmatch(name.rpartition(".")[2]) is None:
        return False
    if written != name or _QUAD.fullmatch(name) is None:
        raise InvalidUrl(f"{written!a} ends in a number and is not an IPv4 address of four decimal numbers")
    return True
