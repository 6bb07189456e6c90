"""Ids and queries that no database takes as they are: every route answers as for an unknown id, on every store."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from aiohttp import web

from sophon import Services
from sophon.messages import Message
from sophon.stores.sessions.contract import SessionRecord
from sophon.testing import FunctionModel
from sophon_hosting.client_api.authentication.token_authentication import TokenAuthenticator
from sophon_hosting.host import Host
from sophon_hosting.http.app import make_app
from sophon_hosting.store.sql_host_store import SqlHostStore
from sophon_middlewares.chains import twelve
from tests.store_urls import store_url as store_url

ODD = ("%00", "a%00b", "%ED%A0%80", "%F0%9F%98", "%1A", "%C2%80", "x" * 6000, "%27%3B--", "-1", "99999999999999999999")
ODD_QUERIES = (
    *(("q", "%00"), ("q", "%ED%A0%80"), ("session_id", "%00"), ("task_id", "%00"), ("status", "%00"), ("since", "%00")),
    *(("limit", "99999999999999999999"), ("after", "99999999999999999999"), ("before", "%00"), ("before", "-1")),
)


@pytest.fixture
def store(store_url: str, tmp_path: Path) -> SqlHostStore:
    return SqlHostStore(store_url, folder=tmp_path)


@pytest.fixture
async def app(store: SqlHostStore) -> AsyncIterator[tuple[web.Application, httpx.AsyncClient]]:
    async def answer(asked: object) -> str:
        return "fine"

    services = Services(models=FunctionModel(answer), store=store)
    async with Host(services, twelve(services)) as host:
        await store.sessions.append("s", [SessionRecord("message", "r", Message("user", "hello"))])
        made = make_app(host, TokenAuthenticator({}))
        runner = web.AppRunner(made, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        base_url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        async with httpx.AsyncClient(base_url=base_url, trust_env=False, timeout=30) as client:
            yield made, client
        await runner.cleanup()


async def test_no_odd_id_in_a_path_is_the_hosts_fault(app) -> None:
    made, client = app
    failed: list[str] = []
    for method, template in routes(made):
        names = re.findall(r"{(\w+)}", template)
        for odd in ODD if names else ():
            path = template.replace(f"{{{names[-1]}}}", odd)
            for name in names[:-1]:
                path = path.replace(f"{{{name}}}", "s")
            answer = await client.request(method, path)
            if answer.status_code >= 500:
                failed.append(f"{method} {path[:60]}: {answer.status_code}")
    assert failed == []


async def test_no_odd_query_is_the_hosts_fault(app) -> None:
    made, client = app
    failed: list[str] = []
    for method, template in routes(made):
        if method != "GET":
            continue
        path = re.sub(r"{\w+}", "s", template)
        for key, odd in ODD_QUERIES:
            answer = await client.get(f"{path}?{key}={odd}")
            if answer.status_code >= 500:
                failed.append(f"{path}?{key}={odd}: {answer.status_code}")
    assert failed == []


def routes(app: web.Application) -> list[tuple[str, str]]:
    return [
        (route.method, route.resource.canonical)
        for route in app.router.routes()
        if route.resource is not None
        and route.resource.canonical.startswith("/api/")
        and route.method not in ("HEAD", "OPTIONS")
        and not route.resource.canonical.endswith("/drain")
    ]
