"""What a page of another site may make a browser do here."""

import pytest
from aiohttp import web

from sophon_hosting.http.middlewares import is_refused_fetch

LINK = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
IMAGE = {"Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}
FRAME = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}
FETCH = {"Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"}
SOCKET = {"Sec-Fetch-Mode": "websocket", "Sec-Fetch-Dest": "websocket"}
FRIEND = {"Origin": "https://friend.example"}
POLL = "/socket.io/"

CASES = [
    ("GET", POLL, None, {}, False),
    ("GET", POLL, "none", LINK, False),
    ("GET", POLL, "same-origin", FETCH, False),
    ("GET", POLL, "cross-site", IMAGE, True),
    ("GET", POLL, "same-site", IMAGE, True),
    ("GET", POLL, "CROSS-SITE", IMAGE, True),
    ("GET", POLL, "cross-site", LINK, True),
    ("GET", POLL, "cross-site", SOCKET | {"Origin": "https://evil.example"}, True),
    ("GET", POLL, "cross-site", SOCKET | FRIEND, False),
    ("POST", "/api/tasks", "cross-site", FETCH | FRIEND, False),
    ("OPTIONS", "/api/tasks", "same-site", FETCH | FRIEND, False),
    ("POST", "/api/tasks", "cross-site", FETCH | {"Origin": "null"}, True),
    ("GET", "/api/sessions", "cross-site", LINK, True),
    ("GET", "/", "cross-site", LINK, False),
    ("GET", "/", "cross-site", FRAME, True),
    ("POST", "/", "cross-site", LINK, True),
    ("GET", "/assets/page.js", "cross-site", {"Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"}, True),
    ("GET", "/metrics", "cross-site", IMAGE, True),
]


@pytest.mark.parametrize(("method", "path", "site", "headers", "refused"), CASES)
def test_other_sites_may_link_to_the_page_and_nothing_else(method, path, site, headers, refused) -> None:
    given = {"Host": "localhost:8080", **headers, **({"Sec-Fetch-Site": site} if site else {})}
    assert is_refused_fetch(method, path, given, ["https://friend.example"]) is refused


async def test_a_refused_fetch_reaches_no_handler_and_webhooks_are_exempt(serve) -> None:
    reached: list[str] = []

    async def note(request: web.Request) -> web.Response:
        reached.append(request.path)
        return web.Response()

    api = await serve(more=[web.get("/socket.io/", note), web.post("/webhooks/telegram", note)])
    page = await api.open(None, **{"Sec-Fetch-Site": "cross-site", **IMAGE})
    for _ in range(64):
        refused = await page.get("/socket.io/?EIO=4&transport=polling")
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "forbidden")
    assert reached == []
    assert (await page.post("/webhooks/telegram")).status_code == 200
    assert (await page.get("/", headers=LINK)).status_code == 200
