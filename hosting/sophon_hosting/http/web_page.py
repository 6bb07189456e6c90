"""Static files of the built web page: `/` and `/assets/`."""

from collections.abc import Awaitable, Callable
from pathlib import Path

from aiohttp import hdrs, web

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

FileHandler = Callable[[web.Request], Awaitable[web.StreamResponse]]
"""Handler that returns one file."""


def is_page_built(folder: Path = BUILT_FOLDER) -> bool:
    """Return whether the page has been built."""
    return (folder / "index.html").is_file()


def web_page_routes(folder: Path = BUILT_FOLDER) -> list[web.RouteDef]:
    """Return `/` and one route per asset; no other files are served."""
    assets = [each for each in sorted((folder / "assets").iterdir()) if each.suffix != ".gz"]
    return [
        web.get("/", _file_handler(folder / "index.html", "no-cache")),
        *(web.get(f"/assets/{each.name}", _file_handler(each, IMMUTABLE_CACHE_CONTROL)) for each in assets),
    ]


def _file_handler(file: Path, cache_control: str) -> FileHandler:
    headers = {"Content-Security-Policy": PAGE_CONTENT_SECURITY_POLICY, hdrs.CACHE_CONTROL: cache_control}

    async def handle(request: web.Request) -> web.StreamResponse:
        # FileResponse sends the `.gz` file beside it if the browser accepts gzip.
        return web.FileResponse(file, headers=headers)

    return handle
