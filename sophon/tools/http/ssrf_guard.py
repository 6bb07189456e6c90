"""SSRF guard: permits URLs from untrusted sources only if they lead to public IP addresses."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal

from sophon._python.lazy_dataclass import dataclass
from sophon.errors import SophonError
from sophon.security.redaction.text_redaction import describe_error
from sophon.tools.http.ip_ranges import AddressAllowList, explain_blocked_address, parse_address
from sophon.tools.http.strict_url_parsing import (
    InvalidUrl,
    UrlOrigin,
    explain_private_name,
    parse_origin,
    resolve_location,
)

HostResolver = Callable[[str], Awaitable[list[str]]]
"""Resolver: takes an ASCII host name, returns its IP addresses as text."""

SsrfStage = Literal["parse", "literal", "hostname", "resolve", "redirect", "connect"]
"""Stage of the block: URL text, literal address, host name, resolved address, redirect, connection."""

MAX_URL_CHARACTERS = 200


class SsrfBlocked(SophonError):
    """A URL that must not be fetched; `url`, `stage` and `reason` are attributes."""

    code = "ssrf_blocked"

    def __init__(self, url: str, stage: SsrfStage, reason: str) -> None:
        self.url, self.stage, self.reason = url, stage, reason
        shown = ascii(url if len(url) <= MAX_URL_CHARACTERS else f"{url[:MAX_URL_CHARACTERS]}...")
        remedy = "; the setting Tools.AllowCidrs permits single addresses" if stage in ("literal", "resolve") else ""
        super().__init__(f"{shown} is blocked ({stage}): {reason}{remedy}")


@dataclass(frozen=True, slots=True)
class Target:
    """Checked destination of a URL.

    The client must connect to `address`, the checked IP address, and must not resolve the host again; `host` is for the
    Host header, SNI and the certificate: lower-case ASCII, no brackets, no trailing dot.
    """

    scheme: str
    host: str
    port: int
    address: str


class SsrfGuard:
    """Blocks every URL that does not lead to a public address.

    `resolve` is called at most once per check, and never for a literal address; the default is the system resolver. A
    single non-public address blocks the URL, and so do an empty result, an error and a result that is not an address.
    `allow_cidrs` permits exactly the listed addresses, as literals and as resolved addresses, on every hop. It does not
    permit names (`localhost`, `printer.local`), and cloud metadata addresses only as single addresses.

    See `sophon.tools.http.strict_url_parsing` for why the host is parsed by the HTTP client itself, and
    `sophon.tools.http.ip_ranges` for the ranges. A NAT64 prefix specific to the local network cannot be detected.
    """

    def __init__(self, resolve: HostResolver | None = None, allow_cidrs: Sequence[str] = ()) -> None:
        self._resolve = resolve or resolve_system_addresses
        self._allowed = AddressAllowList(allow_cidrs)

    async def check(self, url: str) -> Target:
        """Resolve and check `url`; return its target. Raises SsrfBlocked."""
        try:
            origin = parse_origin(url)
        except InvalidUrl as error:
            raise SsrfBlocked(url, "parse", str(error)) from None
        if origin.is_address:
            return self._check_literal(url, origin)
        if private := explain_private_name(origin.host):
            raise SsrfBlocked(url, "hostname", private)
        answers = await self._resolve_host(url, origin.host)
        addresses = [self._check_address(url, "resolve", answer) for answer in answers]
        return Target(origin.scheme, origin.host, origin.port, addresses[0])

    async def check_redirect(self, base: str, location: str) -> tuple[str, Target]:
        """Resolve a Location header against `base`, check it and return (URL, target); the stage is `redirect`."""
        url = resolve_location(base, location)
        try:
            return url, await self.check(url)
        except SsrfBlocked as blocked:
            raise SsrfBlocked(url, "redirect", f"{blocked.reason} ({blocked.stage})") from blocked

    def _check_literal(self, url: str, origin: UrlOrigin) -> Target:
        address = self._check_address(url, "literal", origin.host)
        return Target(origin.scheme, origin.host, origin.port, address)

    async def _resolve_host(self, url: str, host: str) -> list[str]:
        try:
            answers = list(await self._resolve(host))
        except Exception as error:  # a resolver is third-party code; any failure blocks the URL
            raise SsrfBlocked(url, "resolve", f"{host!r} could not be looked up: {describe_error(error)}") from error
        if not answers:
            raise SsrfBlocked(url, "resolve", f"{host!r} has no address")
        return answers

    def _check_address(self, url: str, stage: SsrfStage, text: str) -> str:
        try:
            address = parse_address(str(text))
        except ValueError:
            raise SsrfBlocked(url, "parse" if stage == "literal" else stage, f"{text!r} is not an IP address") from None
        reason = explain_blocked_address(address)
        if reason and ("%" in str(address) or not self._allowed.allows(address)):
            raise SsrfBlocked(url, stage, reason)
        return str(address)


async def resolve_system_addresses(host: str) -> list[str]:
    """Resolve `host` with the operating system, in its order of preference."""
    found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in found]
