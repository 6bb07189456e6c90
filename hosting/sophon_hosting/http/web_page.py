"""The web page as it was built: `/`, and the files that it consists of."""

from collections.abc import Awaitable, Callable
from pathlib import Path

from aiohttp import hdrs, web

BUILT = Path(__file__).parents[1] / "web"
"""Where `make run` and the wheel have it; made from `hosting/web`, and never committed."""

POLICY = "; ".join(
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
"""Nothing inline and nothing foreign; and no text ever becomes HTML."""

FOREVER = "public, max-age=31536000, immutable"
"""The names of the files change with what is in them."""

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


def is_built(folder: Path = BUILT) -> bool:
    """Whether there is a page."""
    return (folder / "index.html").is_file()


def routes(folder: Path = BUILT) -> list[web.RouteDef]:
    """`/`, and a route for every file of the page: what is not listed here is not served."""
    assets = [each for each in sorted((folder / "assets").iterdir()) if each.suffix != ".gz"]
    return [
        web.get("/", _served(folder / "index.html", "no-cache")),
        *(web.get(f"/assets/{each.name}", _served(each, FOREVER)) for each in assets),
    ]


def _served(file: Path, keep: str) -> Answer:
    headers = {"Content-Security-Policy": POLICY, hdrs.CACHE_CONTROL: keep}

    async def served(request: web.Request) -> web.StreamResponse:
        # Compressed, where the browser takes it: `.gz` files lie beside the others.
        return web.FileResponse(file, headers=headers)

    return served
