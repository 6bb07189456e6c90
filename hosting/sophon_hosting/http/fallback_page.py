"""Fallback page at `/` of a host without the built web page; the template is `page.html`."""

from html import escape
from importlib.resources import files
from string import Template

from aiohttp import web

from sophon_hosting.client_api.authentication import TokenAuthenticator
from sophon_hosting.host import Host
from sophon_hosting.http.json_io import get_host

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
