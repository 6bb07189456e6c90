"""The webhook: signed by Meta, answered once it is kept, and cheap for everybody else."""

import hashlib
import hmac
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import httpx
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from hypothesis import given
from hypothesis import strategies as st

from sophon.errors import StoreError
from sophon_channels.whatsapp.webhook import MAX_BODY_BYTES, is_valid_signature, sign_body
from tests.channels.whatsapp.graph_api import SECRET, WORD
from tests.channels.whatsapp.test_parsing import body, message


class Box:
    def __init__(self) -> None:
        self.received: list[Any] = []
        self.broken = False

    async def receive(self, arrivals: Any) -> None:
        if self.broken:
            raise StoreError("the disk", "is full")
        self.received += arrivals


@pytest.fixture
def box() -> Box:
    return Box()


@pytest.fixture
async def client(make: Any, box: Box) -> AsyncIterator[httpx.AsyncClient]:
    channel = make()
    await channel.start(box)
    app = web.Application()
    app.add_routes(channel.routes())
    server = TestServer(app)
    await server.start_server()
    async with httpx.AsyncClient(base_url=str(server.make_url("")), trust_env=False, timeout=30) as client:
        yield client
    await server.close()


async def post(client: httpx.AsyncClient, content: bytes, signature: str | None = None) -> int:
    signed = sign_body(content, SECRET) if signature is None else signature
    headers = {"X-Hub-Signature-256": signed, "Content-Type": "application/json"}
    return (await client.post("/webhooks/whatsapp", content=content, headers=headers)).status_code


async def test_what_is_signed_is_kept_and_then_answered(client: httpx.AsyncClient, box: Box) -> None:
    content = json.dumps(body(message(text={"body": "👩‍🚀 é"})), ensure_ascii=False).encode()
    assert await post(client, content) == 200
    assert [each.text for each in box.received] == ["👩‍🚀 é"]


@pytest.mark.parametrize("signature", ["", "sha256=", "sha256=" + "0" * 64, "sha1=abc", "sha256=odd"])
async def test_anything_else_is_refused_before_it_is_read(
    client: httpx.AsyncClient, box: Box, signature: str, caplog: Any
) -> None:
    assert await post(client, b"not even json", signature) == 401
    assert box.received == []
    assert [each.getMessage() for each in caplog.records if each.levelname == "WARNING"] == [
        "rejected a request to /webhooks/whatsapp with a wrong signature"
    ]


async def test_a_flood_of_refused_requests_is_one_line_per_reason(client: httpx.AsyncClient, caplog: Any) -> None:
    for _ in range(20):
        await post(client, b"{}", "sha256=0")
        await client.get("/webhooks/whatsapp")
        with suppress(httpx.HTTPError):
            await post(client, b"x" * (MAX_BODY_BYTES + 1), "sha256=" + "0" * 64)
    reasons = [each.getMessage().rpartition(" with ")[2] for each in caplog.records if each.levelname == "WARNING"]
    assert reasons == ["a wrong signature", "a wrong token", f"more than {MAX_BODY_BYTES} bytes"]


async def test_a_body_that_was_written_anew_is_another(client: httpx.AsyncClient) -> None:
    content = json.dumps(body(message())).encode()
    assert await post(client, content.replace(b": ", b":"), sign_body(content, SECRET)) == 401


@pytest.mark.parametrize("content", [b"", b"{", b"[" * 100_000, b"\xff"])
async def test_rubbish_that_is_signed_is_refused(client: httpx.AsyncClient, content: bytes) -> None:
    assert await post(client, content) == 400


@pytest.mark.parametrize("content", [b"1", b"{}", b"[]", b"null", b'{"entry": [1, {"changes": 2}]}'])
async def test_json_that_says_nothing_is_taken_and_changes_nothing(
    client: httpx.AsyncClient, box: Box, content: bytes
) -> None:
    assert await post(client, content) == 200
    assert box.received == []


async def test_five_megabytes_are_refused(client: httpx.AsyncClient) -> None:
    with suppress(httpx.HTTPError):  # it may hang up before all was sent
        assert await post(client, b"x" * 5_000_000, "sha256=" + "0" * 64) == 413


async def test_what_could_not_be_kept_is_delivered_again(client: httpx.AsyncClient, box: Box) -> None:
    box.broken = True
    assert await post(client, json.dumps(body(message())).encode()) == 503


async def test_a_status_counts_once_and_only_forwards_and_not_before_it_was_kept(
    client: httpx.AsyncClient, box: Box
) -> None:
    box.broken = True
    read, delivered = (
        json.dumps(body(statuses=[{"id": "wamid.OUT7", "status": status}])).encode() for status in ("read", "delivered")
    )
    assert await post(client, read) == 503
    box.broken = False
    assert [await post(client, each) for each in (read, delivered, read)] == [200] * 3
    assert [each.status for each in box.received] == ["read"]


async def test_a_channel_that_is_stopped_lets_meta_deliver_again(make: Any) -> None:
    channel = make()
    app = web.Application()
    app.add_routes(channel.routes())
    server = TestServer(app)
    await server.start_server()
    async with httpx.AsyncClient(base_url=str(server.make_url("")), trust_env=False, timeout=30) as client:
        assert await post(client, json.dumps(body(message())).encode()) == 503
    await server.close()


async def test_the_address_is_verified_with_our_own_word(client: httpx.AsyncClient) -> None:
    asked = {"hub.mode": "subscribe", "hub.verify_token": WORD, "hub.challenge": "1158201444"}
    answer = await client.get("/webhooks/whatsapp", params=asked)
    assert (answer.status_code, answer.text) == (200, "1158201444")
    assert answer.headers["Content-Type"].startswith("text/plain")
    for changed in ({"hub.verify_token": "wörd"}, {"hub.mode": "unsubscribe"}):
        assert (await client.get("/webhooks/whatsapp", params=asked | changed)).status_code == 403
    assert (await client.get("/webhooks/whatsapp")).status_code == 403


ANYTHING = st.text(st.characters(exclude_categories=()), max_size=100)


@given(st.binary(max_size=200), ANYTHING | st.just("\ud800"))
def test_no_header_whatsoever_raises(content: bytes, header: str) -> None:
    assert is_valid_signature(content, header, SECRET) is False
    right = "sha256=" + hmac.new(SECRET.encode(), content, hashlib.sha256).hexdigest()
    assert is_valid_signature(content, right, SECRET)
