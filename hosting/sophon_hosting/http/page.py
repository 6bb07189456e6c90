"""`/`: what a browser meets."""

from html import escape

from aiohttp import web

from sophon._version import __version__
from sophon_hosting.http.exchange import host_of

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sophon</title>
</head>
<body>
<h1>Sophon {version} is running</h1>
<p>This host answers over Socket.IO at <code>/socket.io/</code> and over HTTP at <code>/api/</code>.
The terminal chat reaches it with <code>sophon chat --url {address}</code>.</p>
<p>Its models: {models}.</p>
<h2>Its chain</h2>
<pre>{chain}</pre>
<p><a href="/healthz">Health</a> · <a href="/readyz">Readiness</a> · <a href="/metrics">Metrics</a></p>
</body>
</html>
"""


def routes() -> list[web.RouteDef]:
    """All of them."""
    return [web.get("/", shown)]


async def shown(request: web.Request) -> web.Response:
    """What runs here, and how to talk with it."""
    host = host_of(request)
    models = [
        f"{model.info.provider}/{model.info.name}" for each in host.services.gateway.providers for model in each.models
    ]
    text = PAGE.format(
        version=escape(__version__),
        address=escape(f"{request.scheme}://{request.host}"),
        models=escape(", ".join(models)),
        chain=escape(host.chain.explain()),
    )
    return web.Response(text=text, content_type="text/html", charset="utf-8")
