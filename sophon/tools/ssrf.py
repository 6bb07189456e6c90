"""The guard in front of every request whose address comes from outside: it leads to public addresses only."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from sophon.errors import SophonError
from sophon.tools.addresses import AllowList, canonical, refusal
from sophon.tools.urls import Origin, UrlRefused, joined, private_name, read_origin

Resolve = Callable[[str], Awaitable[list[str]]]
"""A look-up: an ASCII host name in, its addresses as text out."""

Stage = Literal["parse", "literal", "hostname", "resolve", "redirect", "connect"]
"""Where a URL was refused: its text, an address in it, its name, an answer of the look-up, a hop, the connection."""

MAX_SHOWN = 200


class SsrfBlocked(SophonError):
    """A URL that may not be fetched; `url`, `stage` and `reason` say which, where and why."""

    code = "ssrf_blocked"

    def __init__(self, url: str, stage: Stage, reason: str) -> None:
        self.url, self.stage, self.reason = url, stage, reason
        shown = ascii(url if len(url) <= MAX_SHOWN else f"{url[:MAX_SHOWN]}...")
        remedy = "; AllowCidrs in the settings opens single addresses" if stage in ("literal", "resolve") else ""
        super().__init__(f"{shown} is refused ({stage}): {reason}{remedy}")


@dataclass(frozen=True, slots=True)
class Target:
    """Where a checked URL leads.

    Connect to `address`, an IP address that has been checked, and to nothing that a second look-up returns; `host` is
    for the Host header, SNI and the certificate: lower-case ASCII, no brackets, no trailing dot.
    """

    scheme: str
    host: str
    port: int
    address: str


class SsrfGuard:
    """Refuses every URL that does not lead to a public address.

    `resolve` is asked at most once per check, and never for a literal address; by default the system is asked. One
    answer that is not public refuses all of them, and so do no answer, an error and an answer that is no address.
    `allow_cidrs` opens exactly the addresses it lists, as literals and as answers, on the first hop and on every other.
    It opens no names (`localhost`, `printer.local`), and cloud metadata addresses only one by one.

    The text of a URL proves nothing: see `sophon.tools.urls` for why the host is taken from the client that connects,
    `sophon.tools.addresses` for the ranges. A NAT64 prefix of one's own network cannot be known here.
    """

    def __init__(self, resolve: Resolve | None = None, allow_cidrs: Sequence[str] = ()) -> None:
        self._resolve = resolve or system_addresses
        self._allowed = AllowList(allow_cidrs)

    async def check(self, url: str) -> Target:
        """Where `url` leads; raises SsrfBlocked."""
        try:
            origin = read_origin(url)
        except UrlRefused as refused:
            raise SsrfBlocked(url, "parse", str(refused)) from None
        if origin.is_address:
            return self._literal(url, origin)
        if private := private_name(origin.host):
            raise SsrfBlocked(url, "hostname", private)
        answers = await self._look_up(url, origin.host)
        addresses = [self._approved(url, "resolve", answer) for answer in answers]
        return Target(origin.scheme, origin.host, origin.port, addresses[0])

    async def follow(self, base: str, location: str) -> tuple[str, Target]:
        """The URL that a Location header means at `base`, and where it leads; a refusal has the stage `redirect`."""
        url = joined(base, location)
        try:
            return url, await self.check(url)
        except SsrfBlocked as blocked:
            raise SsrfBlocked(url, "redirect", f"{blocked.reason} ({blocked.stage})") from blocked

    def _literal(self, url: str, origin: Origin) -> Target:
        address = self._approved(url, "literal", origin.host)
        return Target(origin.scheme, origin.host, origin.port, address)

    async def _look_up(self, url: str, host: str) -> list[str]:
        try:
            answers = list(await self._resolve(host))
        except Exception as error:  # a resolver is foreign code, and whatever fails in it closes the door
            raise SsrfBlocked(url, "resolve", f"{host!r} could not be looked up: {error!r}") from error
        if not answers:
            raise SsrfBlocked(url, "resolve", f"{host!r} has no address")
        return answers

    def _approved(self, url: str, stage: Stage, text: str) -> str:
        try:
            address = canonical(str(text))
        except ValueError:
            raise SsrfBlocked(url, "parse" if stage == "literal" else stage, f"{text!r} is no address") from None
        reason = refusal(address)
        if reason and ("%" in str(address) or not self._allowed.opens(address)):
            raise SsrfBlocked(url, stage, reason)
        return str(address)


async def system_addresses(host: str) -> list[str]:
    """The addresses of `host` as the operating system knows them, in the order in which it would try them."""
    found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in found]
