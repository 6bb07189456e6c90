"""The web, behind the SSRF guard: reading is one tool, and everything that sends is another one, which asks first."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, Literal
from weakref import WeakKeyDictionary

from pydantic import Field

from sophon.context import Context, TurnServices
from sophon.errors import ToolError
from sophon.tools.ssrf import SsrfBlocked, SsrfGuard
from sophon.tools.tool import Risk, tool

if TYPE_CHECKING:
    from sophon.tools.http_client import FetchedResponse, SafeHttpClient

MAX_BODY = 1_000_000
"""Characters that can be sent."""

# One client for each set of services: it keeps the TLS context, which is dear to make.
_CLIENTS: "WeakKeyDictionary[TurnServices, SafeHttpClient]" = WeakKeyDictionary()


@tool(
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
    """Fetch a web page or an API's answer. To send data use http.send.

    Args:
        url: An http or https address on the public internet.
        method: HEAD gives the headers only.
        headers: Request headers; no credentials.
    """
    return answer(await _fetch(ctx, method, url, headers, None), with_headers=method == "HEAD")


@tool(
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
    body: Annotated[str, Field(max_length=MAX_BODY)] = "",
    headers: dict[str, str] = {},  # noqa: B006 - never changed; None would tell the model that null is welcome
) -> str:
    """Send data to a web address, or change or delete something there.

    Args:
        url: An http or https address on the public internet.
        method: What to do there.
        body: What to send; JSON is sent as such.
        headers: Request headers; no credentials.
    """
    return answer(await _fetch(ctx, method, url, _with_content_type(headers, body), body or None), with_headers=False)


def answer(response: "FetchedResponse", *, with_headers: bool) -> str:
    """What the model reads of an answer: a line on the answer itself, then the headers or the body.

    JSON that came with a 2xx stands alone, so that it can be read, and cut, as JSON.
    """
    kind = response.headers.get("content-type", "")
    if with_headers:
        shown = "\n".join(f"{name}: {value}" for name, value in response.headers.items())
    else:
        shown = response.text
        if "json" in kind and 200 <= response.status < 300 and not response.truncated:
            return shown
    end = "\n[the body was longer and has been cut off]" if response.truncated else ""
    about = f"{response.status} {_phrase(response.status)}".rstrip()
    return f"HTTP {about}, {response.url}{f' ({kind})' if kind else ''}\n\n{shown}{end}"


async def _fetch(
    ctx: Context, method: str, url: str, headers: Mapping[str, str], body: str | None
) -> "FetchedResponse":
    try:
        return await _client(ctx.services).fetch(method, url, headers, body)
    except SsrfBlocked as blocked:
        raise ToolError(str(blocked)) from blocked


def _client(services: TurnServices) -> "SafeHttpClient":
    from sophon.tools.http_client import SafeHttpClient  # lazy: it brings httpx, and `import sophon` must stay fast

    client = _CLIENTS.get(services)
    if client is None:
        guard = SsrfGuard(allow_cidrs=services.settings.tools.allow_cidrs)
        client = _CLIENTS[services] = SafeHttpClient(guard, clock=services.clock)
    return client


def _with_content_type(headers: Mapping[str, str], body: str) -> dict[str, str]:
    if any(name.lower() == "content-type" for name in headers):
        return dict(headers)
    kind = "application/json" if body.lstrip()[:1] in ("{", "[") and body else "text/plain; charset=utf-8"
    return dict(headers) | ({"content-type": kind} if body else {})


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
