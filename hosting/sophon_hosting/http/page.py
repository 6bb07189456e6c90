"""`/` of a host without the web page, from `page.html` beside this file."""

from html import escape
from importlib.resources import files
from string import Template

from aiohttp import web

from sophon._version import __version__
from sophon_hosting.access import Access
from sophon_hosting.host import Host
from sophon_hosting.http.exchange import host_of

OFFLINE = "offline"

SIGN_IN = "Both want your token: <code>auth: {token}</code> there, <code>Authorization: Bearer</code> here."
OPEN = "There are no users (<code>Hub.Users</code>), so no token is needed, and only this machine reaches it."
CLOSED = "<p>Which chain and models run here is for users: <code>/api/chain</code> and <code>/api/models</code>.</p>"
REHEARSAL = (
    "<p>That is the offline model: it answers by rules, without a key or a network, and uses the tools. For a real "
    "one, set a key (<code>OPENAI_API_KEY</code>, say) or start Ollama, and start the host again.</p>"
)
METRICS = '<li><a href="/metrics">/metrics</a>: what it counts, for Prometheus</li>'


def routes(access: Access, *, metrics: bool) -> list[web.RouteDef]:
    """`/`; without `metrics` there is no link to them."""
    template = Template((files("sophon_hosting.http") / "page.html").read_text(encoding="utf-8"))

    async def shown(request: web.Request) -> web.Response:
        """What runs here, and how to talk with it. A host with users tells strangers nothing of its models."""
        text = template.substitute(
            version=escape(__version__),
            address=escape(f"{request.scheme}://{request.host}"),
            token=OPEN if access.open else SIGN_IN,
            answers=answers(host_of(request)) if access.open else CLOSED,
            metrics=METRICS if metrics else "",
        )
        return web.Response(text=text, content_type="text/html", charset="utf-8")

    return [web.get("/", shown)]


def answers(host: Host) -> str:
    """The models in the order in which they are asked, and the chain, as HTML."""
    providers = host.services.gateway.providers
    models = [f"{model.info.provider}/{model.info.name}" for each in providers for model in each.models]
    parts = [f"<p>Models: {escape(', '.join(models)) or 'none'}.</p>"]
    if providers and all(each.id == OFFLINE for each in providers):
        parts.append(REHEARSAL)
    return "\n".join([*parts, f"<pre>{escape(host.chain.explain())}</pre>"])
