"""Static files of the built web page: `/` and `/assets/`."""

import hashlib
from collections.abc import Awaitable, Callable
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Self

from aiohttp import hdrs, web

from sophon._python.lazy_dataclass import dataclass
from sophon_hosting.client_api.authentication.token_authentication import TokenAuthenticator
from sophon_hosting.client_api.http_json import get_host
from sophon_hosting.host import Host

BUILT_FOLDER = Path(__file__).parents[1] / "web"
"""Folder of the page after `make run` and in the wheel; built from `hosting/web`, never committed."""

PAGE_CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "manifest-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
"""Content-Security-Policy: nothing inline, nothing from other origins, no HTML from strings (Trusted Types)."""

IMMUTABLE_CACHE_CONTROL = "public, max-age=31536000, immutable"
"""Cache-Control of assets, whose file names contain a content hash."""

CONTENT_TYPES = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".json": "application/json",
}
"""Content-Type by file name extension, of all that the build leaves."""

CHUNK_BYTES = 16 * 1024
"""Bytes of an asset that are written at a time; what a slow client has not read is not copied as a whole."""

AssetHandler = Callable[[web.Request], Awaitable[web.StreamResponse]]
"""Handler that returns one file of the page."""

OFFLINE_PROVIDER = "offline"

SIGN_IN_HINT = (
    "Both require your token: <code>auth: {token}</code> for Socket.IO, <code>Authorization: Bearer</code> for HTTP."
)

NO_USERS_HINT = (
    "No users are configured (<code>Hub.Users</code>), so no token is needed, and only this machine can connect."
)

MODELS_HIDDEN_HINT = (
    "<p>Users can see the chain and the models at <code>/api/chain</code> and <code>/api/models</code>.</p>"
)

OFFLINE_MODEL_HINT = (
    "<p>This is the offline model: it answers by rules, without a key or a network, and uses the tools. For a real "
    "model, set a key (for example <code>OPENAI_API_KEY</code>) or start Ollama, and restart the host.</p>"
)

METRICS_LINK = '<li><a href="/metrics">/metrics</a>: Prometheus metrics</li>'


@dataclass(frozen=True, slots=True)
class Asset:
    """A file of the page in memory: a client that does not read its download holds no open file.

    `packed` is the file compressed by gzip, if the build left one.
    """

    content: bytes
    packed: bytes | None
    content_type: str
    etag: str

    @classmethod
    def read(cls, file: Path) -> Self:
        """Read a file, and the `.gz` file beside it."""
        packed = file.with_name(f"{file.name}.gz")
        content = file.read_bytes()
        return cls(
            content,
            packed.read_bytes() if packed.is_file() else None,
            CONTENT_TYPES.get(file.suffix, "application/octet-stream"),
            hashlib.sha256(content).hexdigest()[:32],
        )


def is_page_built(folder: Path = BUILT_FOLDER) -> bool:
    """Return whether the page has been built."""
    return (folder / "index.html").is_file()


def web_page_routes(folder: Path = BUILT_FOLDER) -> list[web.RouteDef]:
    """Return `/` and one route per asset; no other files are served. Reads all of them."""
    assets = [each for each in sorted((folder / "assets").iterdir()) if each.suffix != ".gz"]
    return [
        web.get("/", asset_handler(Asset.read(folder / "index.html"), "no-cache")),
        *(web.get(f"/assets/{each.name}", asset_handler(Asset.read(each), IMMUTABLE_CACHE_CONTROL)) for each in assets),
    ]


def asset_handler(asset: Asset, cache_control: str) -> AssetHandler:
    """Return a handler that sends a file in pieces, as fast as the client reads them."""
    headers = {
        "Content-Security-Policy": PAGE_CONTENT_SECURITY_POLICY,
        hdrs.CACHE_CONTROL: cache_control,
        hdrs.VARY: hdrs.ACCEPT_ENCODING,
        # Weak: one entity tag for both encodings. Source: RFC 9110, 8.8.1.
        hdrs.ETAG: f'W/"{asset.etag}"',
    }

    async def handle(request: web.Request) -> web.StreamResponse:
        packed = asset.packed if "gzip" in request.headers.get(hdrs.ACCEPT_ENCODING, "").lower() else None
        if any(each.value in (asset.etag, "*") for each in request.if_none_match or ()):
            return web.Response(status=304, headers=headers)
        response = web.StreamResponse(headers=headers)
        response.content_type = asset.content_type
        content = asset.content if packed is None else packed
        response.content_length = len(content)
        if packed is not None:
            response.headers[hdrs.CONTENT_ENCODING] = "gzip"
        await response.prepare(request)
        if request.method != hdrs.METH_HEAD:
            for start in range(0, len(content), CHUNK_BYTES):
                await response.write(content[start : start + CHUNK_BYTES])
        return response

    return handle


def fallback_page_routes(access: TokenAuthenticator, *, metrics: bool) -> list[web.RouteDef]:
    """Return the route `/`; without `metrics` the page does not link to `/metrics`."""
    template = Template((files("sophon_hosting.http") / "page.html").read_text(encoding="utf-8"))

    async def get_page(request: web.Request) -> web.Response:
        """Return the page. A host with users does not reveal its models to unauthenticated visitors."""
        text = template.substitute(
            address=escape(f"{request.scheme}://{request.host}"),
            token=NO_USERS_HINT if access.allows_anonymous else SIGN_IN_HINT,
            answers=models_html(get_host(request)) if access.allows_anonymous else MODELS_HIDDEN_HINT,
            metrics=METRICS_LINK if metrics else "",
        )
        return web.Response(text=text, content_type="text/html", charset="utf-8")

    return [web.get("/", get_page)]


def models_html(host: Host) -> str:
    """Return the models, in order of priority, and the chain as HTML."""
    providers = host.services.gateway.providers
    models = [f"{model.info.provider}/{model.info.name}" for each in providers for model in each.models]
    parts = [f"<p>Models: {escape(', '.join(models)) or 'none'}.</p>"]
    if providers and all(each.id == OFFLINE_PROVIDER for each in providers):
        parts.append(OFFLINE_MODEL_HINT)
    return "\n".join([*parts, f"<pre>{escape(host.chain.explain())}</pre>"])
