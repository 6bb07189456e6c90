"""docs/api.md says what the routes are, and docs/clients.md what the examples are."""

import re
from pathlib import Path

from sophon import Services
from sophon_hosting.client_api.authentication.token_authentication import TokenAuthenticator
from sophon_hosting.host import Host
from sophon_hosting.http.app import HttpOptions, make_app
from sophon_hosting.store.sql_host_store import SqlHostStore
from sophon_middlewares.chains import twelve

DOCS = Path(__file__).parents[2] / "docs"


async def test_every_route_is_on_the_page_and_every_route_on_the_page_is_there() -> None:
    services = Services(settings={"Hub": {"OpenAiApi": True}}, store=SqlHostStore("memory://"))

    async def metrics() -> bytes:
        return b""

    app = make_app(
        Host(services, twelve(services)),
        TokenAuthenticator({}),
        HttpOptions(render_metrics=metrics, web_folder=Path("without the files of the page")),
    )
    routes = {
        f"{route.method} {route.resource.canonical}"
        for route in app.router.routes()
        if route.resource is not None and route.method != "HEAD"
    }
    page = (DOCS / "api.md").read_text()
    assert set(re.findall(r"`((?:GET|POST|PUT|PATCH|DELETE) /[^`]*)`", page)) == routes


def test_the_examples_on_the_page_are_the_files_and_have_about_forty_lines() -> None:
    page = (DOCS / "clients.md").read_text()
    for name in ("client.py", "client.js", "schedules.py"):
        source = (DOCS / "examples" / name).read_text()
        assert source in page
        assert sum(bool(line.strip()) for line in source.splitlines()) <= 42
