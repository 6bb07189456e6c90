"""Operations over HTTP: what is checked before a body is read, and where fields may stand."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from sophon_hosting.client_api.authentication.token_authentication import User
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.client_api.operation_reply import JsonLines
from sophon_hosting.http.operation_routes import operation_routes
from sophon_hosting.operations.request import Everything, Request
from sophon_hosting.operations.shared_results import Done
from sophon_hosting.operations.table import Table
from tests.hosting.http import conftest
from tests.hosting.http.conftest import Api

# Its paths are below /v1/: each answer below /api/ is compared with the result that the registry declares.
table = Table("things")


class NamedThing(Request):
    """A thing, and how much of it."""

    name: str
    count: int = 1


class Things(Request):
    """The things of a user, or of all."""

    everything: Everything = False


class Called(Done):
    """Which operation was called, with what."""

    called: str


@table.operation("GET /v1/things/{name}", needs="Read")
async def get_thing(caller: Caller, request: NamedThing) -> Called:
    """Show a thing."""
    return {"called": f"get {request.name} {request.count}"}


@table.operation("GET /v1/things", needs="Read")
async def list_things(caller: Caller, request: Things) -> Called:
    """List things."""
    return {"called": f"list {request.everything}"}


@table.operation("GET /v1/things/{name}/{count}", needs="Read")
async def get_part(caller: Caller, request: NamedThing) -> Called:
    """Show a part of a thing."""
    return {"called": f"part {request.count} of {request.name}"}


@table.operation("GET /v1/things/{name}/parts", needs="Read")
async def list_parts(caller: Caller, request: NamedThing) -> Called:
    """List the parts of a thing; declared after the route that has a field in place of `parts`."""
    return {"called": f"parts of {request.name}"}


@table.operation("POST /v1/things/{name}", needs="Chat")
async def change_thing(caller: Caller, request: NamedThing) -> Called:
    """Change a thing."""
    return {"called": f"change {request.name} {request.count}"}


@table.operation("DELETE /v1/things/{name}", needs="Chat")
async def delete_thing(caller: Caller, request: NamedThing) -> Called:
    """Delete a thing."""
    return {"called": f"delete {request.name} {request.count}"}


@table.operation("GET /v1/things/{name}/lines", needs="Read")
async def stream_lines(caller: Caller, request: NamedThing) -> JsonLines:
    """Stream lines about a thing."""

    async def lines() -> AsyncIterator[dict[str, str]]:
        for number in range(3):
            yield {"called": f"line {number} of {request.name}"}

    return JsonLines(lines())


@pytest.fixture
async def things(serve: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Api:
    monkeypatch.setitem(conftest.USERS, "token-of-reader", User("ada", scopes=frozenset({"Read"})))
    api: Api = await serve(more=operation_routes(table.operations))
    return api


@pytest.mark.parametrize(
    ("call", "body", "status", "answer"),
    [
        ("GET /v1/things/kettle?count=2", None, 200, "get kettle 2"),
        ("GET /v1/things/kettle/2", None, 200, "part 2 of kettle"),
        ("GET /v1/things/kettle/parts", None, 200, "parts of kettle"),
        ("GET /v1/things?everything=false", None, 200, "list False"),
        ("GET /v1/things?everything=true", None, 403, "only an operator may do this"),
        ("POST /v1/things/kettle", {"count": 2}, 200, "change kettle 2"),
        ("POST /v1/things/kettle", None, 200, "change kettle 1"),
        ("DELETE /v1/things/kettle?count=2", None, 200, "delete kettle 2"),
        ("POST /v1/things/kettle", {"count": "2"}, 400, "count: it must be a whole number"),
        ("POST /v1/things/kettle", {"name": "pot"}, 400, "name: it stands in the path, and once more in the request"),
        ("GET /v1/things/kettle?name=pot", None, 400, "name: it stands in the path, and once more in the request"),
        ("DELETE /v1/things/kettle?name=pot", None, 400, "name: it stands in the path"),
        ("POST /v1/things/kettle?count=2", {}, 400, "count: the query must be empty, fields go into the body"),
        ("POST /v1/things/kettle?name=pot", {}, 400, "name: the query must be empty"),
        ("GET /v1/things/kettle?count=2&count=3", None, 400, "count: given more than once"),
        ("DELETE /v1/things/kettle?count=2&count=2", None, 400, "count: given more than once"),
        ("GET /v1/things/kettle?colour=red", None, 400, "colour: there is no such field"),
        ("POST /v1/things/kettle", [1], 400, "body: it must be an object"),
        ("POST /v1/things/kettle", {"fields_set": ["count"]}, 400, "fields_set: there is no such field"),
    ],
)
async def test_each_field_has_its_one_place(things: Api, call: str, body: object, status: int, answer: str) -> None:
    method, _, path = call.partition(" ")
    given: dict[str, Any] = {} if body is None else {"json": body}
    response = await (await things.open("ada")).request(method, path, **given)
    found = response.json()
    assert response.status_code == status, response.text
    assert found["called"] == answer if status == 200 else answer in found["error"]["message"], response.text


@pytest.mark.parametrize(("token", "status"), [("reader", 403), ("nobody", 401)])
async def test_a_body_is_not_read_of_who_lacks_the_permission(things: Api, token: str, status: int) -> None:
    head = (
        "POST /v1/things/kettle HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        f"Authorization: Bearer token-of-{token}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
    )
    answer = await things.raw(head.encode())  # the body never comes
    assert answer.startswith(f"HTTP/1.1 {status} ".encode()), answer
    refused = await (await things.open(token)).post(
        "/v1/things/kettle", content="no JSON", headers={"Content-Type": "application/json"}
    )
    assert refused.status_code == status


async def test_an_operator_gets_everything(things: Api) -> None:
    olga = await things.open("olga")
    assert (await olga.get("/v1/things?everything=true")).json() == {"called": "list True"}


async def test_head_of_a_stream_of_lines_has_no_body_that_would_be_taken_for_the_next_answer(things: Api) -> None:
    def request(method: str, connection: str) -> bytes:
        head = f"{method} /v1/things/kettle/lines HTTP/1.1\r\nHost: localhost\r\nConnection: {connection}\r\n"
        return f"{head}Authorization: Bearer token-of-ada\r\n\r\n".encode()

    answers = await things.raw(request("HEAD", "keep-alive") + request("GET", "close"))

    first, _, rest = answers.partition(b"\r\n\r\n")
    assert first.startswith(b"HTTP/1.1 200 "), answers
    assert b"application/x-ndjson" in first
    assert rest.startswith(b"HTTP/1.1 200 "), answers
    assert rest.count(b"line 2 of kettle") == 1
