"""HTTP client for URLs from a model: SSRF-checked, connected to the checked IP address, limited in size and time."""

import codecs
import re
import ssl
import zlib
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace

import httpx

from sophon._python.lazy_dataclass import dataclass
from sophon._version import __version__
from sophon.clock import Clock, SystemClock
from sophon.errors import ToolError
from sophon.security.reserved_headers import is_header_name, is_reserved_header, normalize_header_name
from sophon.tools.http.ssrf_guard import SsrfBlocked, SsrfGuard, Target

METHODS = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})

REDIRECTS = frozenset({301, 302, 303, 307, 308})

CredentialLookup = Callable[[str, str, int], Mapping[str, str]]
"""Takes scheme, host and port of one request and returns the operator's headers for it, with lower-case names."""

OWN_HEADERS = {"accept": "*/*", "user-agent": f"sophon/{__version__}"}

CREDENTIAL_HEADERS = frozenset(
    {
        "authorization",
        "cookie",
        "cookie2",
        "api-key",
        "apikey",
        "authentication",
        "dd-api-key",
        "dd-application-key",
        "ocp-apim-subscription-key",
        "private-token",
        "set-cookie",
        "set-cookie2",
        "token",
        "x-access-token",
        "x-amz-security-token",
        "x-api-key",
        "x-api-token",
        "x-apikey",
        "x-auth",
        "x-auth-key",
        "x-auth-token",
        "x-authorization",
        "x-functions-key",
        "x-gitlab-token",
        "x-goog-api-key",
        "x-rapidapi-key",
        "x-session-token",
        "x-subscription-token",
        "x-vault-token",
    }
)
"""Headers that hold credentials: only the operator may set them, by the setting Vault."""

CROSS_ORIGIN_HEADERS = frozenset(
    {"accept", "accept-language", "cache-control", "content-language", "content-type", "range", "user-agent"}
)
"""The only headers that a redirect sends to another origin: any other header may contain a key."""

_VALUE = re.compile(r"[\t\x20-\x7e]*")

_CHARSET = re.compile(r"""charset\s*=\s*["']?([A-Za-z0-9._:-]+)""", re.IGNORECASE)

# Allow list: Python also has codecs that decompress archives, need quadratic time or produce no text.
_TEXT_CODEC = re.compile(
    r"utf-(8|16|32)(-[lb]e)?|ascii|iso8859-\d+|cp\d+|koi8-[rtu]|big5\w*|gb\w+|shift_jis\w*|euc_\w+"
)


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """Limits of one fetch: bytes of the decompressed body, seconds over all hops, redirects."""

    max_bytes: int = 1_000_000
    timeout_seconds: float = 30.0
    max_redirects: int = 5


@dataclass(frozen=True, slots=True)
class FetchedResponse:
    """HTTP response: `url` is the last hop, `headers` have lower-case names, `truncated` means the body was cut."""

    status: int
    url: str
    headers: dict[str, str]
    text: str
    truncated: bool


@dataclass(frozen=True, slots=True)
class _Hop:
    method: str
    url: str
    headers: dict[str, str]
    body: bytes | None


class SafeHttpClient:
    """HTTP client that fetches only URLs permitted by `guard`, from exactly the IP address that it checked.

    The host is resolved once per hop, and the connection uses the original Host header, SNI and certificate name.
    Every redirect is checked like the first URL; method and body change as in browsers (Fetch standard, "HTTP-redirect
    fetch"), and only harmless headers are sent to another origin. Proxies and other environment settings are ignored,
    cookies are not stored, and connections are not reused: a pool would share one between host names at the same
    address, bypassing the second name's certificate check.

    `tls` replaces the default context, for an operator's own certificate authority. Safe to share between turns.
    """

    def __init__(
        self,
        guard: SsrfGuard,
        *,
        clock: Clock | None = None,
        limits: HttpLimits | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._guard = guard
        self._clock = clock or SystemClock()
        self._limits = limits or HttpLimits()
        self._tls = tls

    async def fetch(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str] | None = None,
        body: str | bytes | None = None,
        *,
        credentials: CredentialLookup | None = None,
    ) -> FetchedResponse:
        """Send one request, follow its redirects and return the response of any status.

        `credentials` is asked for each hop. A hop after a redirect gets only those that the hop before it had too, so
        that no other server chooses a request that is made with them.

        Raises SsrfBlocked if the guard blocks the URL or a redirect, and for too many redirects; ToolError for a method
        or header that is not allowed, for a failed connection and at the timeout.
        """
        hop = _Hop(_validate_method(method), url, {**OWN_HEADERS, **validate_headers(headers or {})}, _as_bytes(body))
        try:
            async with self._clock.timeout(self._limits.timeout_seconds):
                return await self._follow(hop, credentials or _no_credentials)
        except TimeoutError as error:
            raise ToolError(f"{hop.method} {url!a} timed out after {self._limits.timeout_seconds:g} s") from error
        except httpx.HTTPError as error:
            raise ToolError(f"{hop.method} {url!a} failed: {type(error).__name__}: {error}") from error

    async def _follow(self, hop: _Hop, lookup: CredentialLookup) -> FetchedResponse:
        target = await self._guard.check(hop.url)
        attached = lookup(*_origin(target))
        for _ in range(self._limits.max_redirects + 1):
            response = await self._send(hop, target, attached)
            location = _location(response.status, response.headers)
            if location is None:
                return response
            url, next_target = await self._guard.check_redirect(hop.url, location)
            hop = _redirect(hop, response.status, url, same_origin=_origin(target) == _origin(next_target))
            target = next_target
            attached = _keep_attached(attached, lookup, target)
        raise SsrfBlocked(hop.url, "redirect", f"more than {self._limits.max_redirects} redirects")

    async def _send(self, hop: _Hop, target: Target, attached: Mapping[str, str]) -> FetchedResponse:
        original = httpx.URL(hop.url)
        # Last, so that headers from a model cannot override them.
        own = {"host": original.netloc.decode(), "accept-encoding": "gzip", "connection": "close"}
        headers = {**hop.headers, **attached, **own}
        request = httpx.Request(
            hop.method,
            original.copy_with(host=target.address),
            headers=headers,
            content=hop.body,
            extensions={"sni_hostname": target.host},
        )
        # The transport alone: httpx.AsyncClient parses the Location header and fails on a strange one before the guard.
        async with httpx.AsyncHTTPTransport(verify=self._tls_context(), trust_env=False) as transport:
            response = await transport.handle_async_request(request)
            try:
                return await self._read(hop, response)
            finally:
                await response.aclose()

    async def _read(self, hop: _Hop, response: httpx.Response) -> FetchedResponse:
        headers = dict(response.headers)
        if hop.method == "HEAD" or _location(response.status_code, headers) is not None:
            return FetchedResponse(response.status_code, hop.url, headers, "", truncated=False)
        encoding = headers.get("content-encoding", "")
        body, truncated = await read_limited_body(response.aiter_raw(), encoding, self._limits.max_bytes)
        text = decode_body(body, headers.get("content-type", ""), is_complete=not truncated)
        return FetchedResponse(response.status_code, hop.url, headers, text, truncated)

    def _tls_context(self) -> ssl.SSLContext:
        if self._tls is None:
            # Created at the first fetch and reused: it reads some hundred certificates.
            self._tls = httpx.create_ssl_context(trust_env=False)
        return self._tls


def _no_credentials(scheme: str, host: str, port: int) -> Mapping[str, str]:
    return {}


def _keep_attached(before: Mapping[str, str], lookup: CredentialLookup, target: Target) -> Mapping[str, str]:
    """Return the headers that both this hop and the one before it get; a server that has none chooses no request."""
    if not before:
        return before
    return {name: value for name, value in lookup(*_origin(target)).items() if before.get(name) == value}


def _validate_method(method: str) -> str:
    if method.upper() not in METHODS:
        raise ToolError(f"the method {method!r} is not allowed; choose one of {', '.join(sorted(METHODS))}")
    return method.upper()


def _as_bytes(body: str | bytes | None) -> bytes | None:
    return body.encode(errors="replace") if isinstance(body, str) else body


def _location(status: int, headers: Mapping[str, str]) -> str | None:
    return headers.get("location") if status in REDIRECTS else None


def _origin(target: Target) -> tuple[str, str, int]:
    return target.scheme, target.host, target.port


def _redirect(hop: _Hop, status: int, url: str, *, same_origin: bool) -> _Hop:
    headers = hop.headers if same_origin else keep_cross_origin_headers(hop.headers)
    rewritten = (status in (301, 302) and hop.method == "POST") or (status == 303 and hop.method not in ("GET", "HEAD"))
    if rewritten:
        return _Hop("GET", url, drop_body_headers(headers), None)
    return replace(hop, url=url, headers=headers)


def validate_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return `headers` with lower-case names; raises ToolError that names the first header that is not allowed."""
    return {name.lower(): _check_header(name, value) for name, value in headers.items()}


def keep_cross_origin_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that may be sent after a redirect to another scheme, host or port."""
    return {name: value for name, value in headers.items() if name in CROSS_ORIGIN_HEADERS}


def drop_body_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers without those of the body, for a redirect that drops the body."""
    return {name: value for name, value in headers.items() if not name.startswith("content-")}


def _check_header(name: str, value: str) -> str:
    if not is_header_name(name):
        raise ToolError(f"{name!r} is not a header name")
    if normalize_header_name(name) in CREDENTIAL_HEADERS or is_reserved_header(name):
        raise ToolError(f"the header {name!r} must not be set; remove it")
    if _VALUE.fullmatch(value) is None:
        raise ToolError(f"the value of the header {name!r} has characters other than printable ASCII")
    return value


async def read_limited_body(chunks: AsyncIterator[bytes], encoding: str, limit: int) -> tuple[bytes, bool]:
    """Return the first `limit` decompressed bytes, and whether there were more.

    `encoding` is the Content-Encoding: gzip or none; anything else raises ToolError, since it was not requested.
    Decompression stops at the limit, so a small compressed body cannot become a large one in memory.
    """
    decompressor = _create_decompressor(encoding)
    kept = bytearray()
    async for chunk in chunks:
        kept += decompressor.feed(chunk, limit + 1 - len(kept))
        if len(kept) > limit:
            return bytes(kept[:limit]), True
    return bytes(kept), not decompressor.complete


def decode_body(body: bytes, content_type: str, *, is_complete: bool = True) -> str:
    """Decode `body` with the charset of `content_type`, else UTF-8; invalid bytes become U+FFFD.

    With `is_complete` false, an incomplete character at the end of a truncated body is dropped.
    """
    decoder = codecs.getincrementaldecoder(_find_text_codec(content_type))(errors="replace")
    return decoder.decode(body, final=is_complete)


class _IdentityDecoder:
    complete = True

    def feed(self, chunk: bytes, limit: int) -> bytes:
        return chunk[:limit]


class _GzipDecoder:
    """Decompressor for one or several consecutive gzip members."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(wbits=31)
        self._started = False

    @property
    def complete(self) -> bool:
        return self._member.eof or not self._started

    def feed(self, chunk: bytes, limit: int) -> bytes:
        out = bytearray()
        try:
            while chunk and len(out) < limit:
                if self._member.eof:
                    self._member = zlib.decompressobj(wbits=31)
                self._started = True
                out += self._member.decompress(chunk, limit - len(out))
                chunk = self._member.unused_data
        except zlib.error as error:
            raise ToolError(f"the response body is not valid gzip: {error}") from error
        return bytes(out)


def _create_decompressor(encoding: str) -> _IdentityDecoder | _GzipDecoder:
    match encoding.strip().lower():
        case "" | "identity":
            return _IdentityDecoder()
        case "gzip" | "x-gzip":
            return _GzipDecoder()
        case other:
            raise ToolError(f"the response has the content encoding {other!r}; only gzip was requested")


def _find_text_codec(content_type: str) -> str:
    named = _CHARSET.search(content_type)
    try:
        codec = codecs.lookup(named[1] if named else "utf-8").name
    except LookupError:
        codec = "utf-8"
    if codec == "utf-8" or _TEXT_CODEC.fullmatch(codec) is None:
        return "utf-8-sig"
    return codec
