"""Built-in tools `http.request` (GET, HEAD) and `http.send` (needs approval), behind the SSRF guard."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal
from weakref import WeakKeyDictionary

from sophon._python.value_rules import ValueRules
from sophon.context import Context, TurnServices
from sophon.errors import ToolError
from sophon.tools.http.ssrf_guard import SsrfBlocked, SsrfGuard
from sophon.tools.tool import Risk, tool

if TYPE_CHECKING:
    from sophon.models.gateway.failover_gateway import ModelGateway
    from sophon.tools.http.client import FetchedResponse, SafeHttpClient

MAX_BODY_CHARACTERS = 1_000_000
"""Maximum length of a request body, in characters."""

# One client for each set of services: it keeps the TLS context, which is expensive to create. The key is the gateway,
# because each turn of a host has services of its own, with the gateway of all.
_CLIENTS: "WeakKeyDictionary[ModelGateway, SafeHttpClient]" = WeakKeyDictionary()


@tool(
    deferred=True,
    name="http.request",
    risk=Risk.LOW,
    group="web",
    idempotent=True,
    external=True,
    tags=("url", "web", "fetch", "download", "http", "https", "website", "page", "link", "internet", "online"),
)
async def http_request(
    ctx: Context,
    url: str,
    method: Literal["GET", "HEAD"] = "GET",
    headers: dict[str, str] = {},  # noqa: B006 - never changed; None would tell the model that null is welcome
) -> str:
    """Fetch a web page or an API response. To send data use http.send.

    Args:
        url: An http or https address on the public internet.
        method: HEAD returns the headers only.
        headers: Request headers; no credentials, the host adds its own.
    """
    return format_response(await _fetch(ctx, method, url, headers, None), with_headers=method == "HEAD")


@tool(
    deferred=True,
    name="http.send",
    risk=Risk.HIGH,
    group="web",
    external=True,
    tags=("http", "https", "post", "put", "patch", "api", "webhook", "send", "submit", "upload"),
)
async def http_send(
    ctx: Context,
    url: str,
    method: Literal["POST", "PUT", "PATCH", "DELETE"] = "POST",
    body: Annotated[str, ValueRules(max_length=MAX_BODY_CHARACTERS)] = "",
    headers: dict[str, str] = {},  # noqa: B006 - never changed; None would tell the model that null is welcome
) -> str:
    """Send data to a web address, or change or delete something there.

    Args:
        url: An http or https address on the public internet.
        method: The HTTP method.
        body: The request body; JSON is sent with the JSON content type.
        headers: Request headers; no credentials, the host adds its own.
    """
    return format_response(
        await _fetch(ctx, method, url, _with_content_type(headers, body), body or None), with_headers=False
    )


def format_response(response: "FetchedResponse", *, with_headers: bool) -> str:
    """Format a response for the model: a status line, then the headers or the body.

    The JSON body of a 2xx response is returned alone, so that it can be parsed and truncated as JSON.
    """
    content_type = response.headers.get("content-type", "")
    if with_headers:
        content = "\n".join(f"{name}: {value}" for name, value in response.headers.items())
    else:
        content = response.text
        if "json" in content_type and 200 <= response.status < 300 and not response.truncated:
            return content
    end = "\n[the body was longer and has been truncated]" if response.truncated else ""
    status_line = f"{response.status} {_status_phrase(response.status)}".rstrip()
    return f"HTTP {status_line}, {response.url}{f' ({content_type})' if content_type else ''}\n\n{content}{end}"


async def _fetch(
    ctx: Context, method: str, url: str, headers: Mapping[str, str], body: str | None
) -> "FetchedResponse":
    vault = ctx.services.security.vault
    for name in headers:
        if vault.has_header(name):
            raise ToolError(f"the header {name!r} must not be set; remove it: the host adds its credentials itself")
    lookup = vault.lookup(principal=ctx.principal, data_owner=ctx.data_owner, group=ctx.group)
    try:
        response = await _client(ctx.services).fetch(method, url, headers, body, credentials=lookup)
    except (SsrfBlocked, ToolError) as error:
        # A server that has received a token may repeat it in a redirect, and so in the text of the error.
        raise ToolError(vault.redact(str(error))) from error
    return replace(
        response,
        url=vault.redact(response.url),
        headers={vault.redact(name): vault.redact(value) for name, value in response.headers.items()},
        text=vault.redact(response.text, is_complete=not response.truncated),
    )


def _client(services: TurnServices) -> "SafeHttpClient":
    from sophon.tools.http.client import SafeHttpClient  # lazy: it imports httpx, and `import sophon` must stay fast

    client = _CLIENTS.get(services.gateway)
    if client is None:
        guard = SsrfGuard(allow_cidrs=services.settings.tools.allow_cidrs)
        client = _CLIENTS[services.gateway] = SafeHttpClient(guard, clock=services.clock)
    return client


def _with_content_type(headers: Mapping[str, str], body: str) -> dict[str, str]:
    if any(name.lower() == "content-type" for name in headers):
        return dict(headers)
    kind = "application/json" if body.lstrip()[:1] in ("{", "[") and body else "text/plain; charset=utf-8"
    return dict(headers) | ({"content-type": kind} if body else {})


def _status_phrase(status: int) -> str:
    from http import HTTPStatus  # lazy, as the client

    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
