"""`POST /api/sessions/import`: a file of a user becomes sessions of that user, within limits."""

import asyncio
import io
import json
import zipfile
from typing import Any

import httpx
import pytest

from sophon_hosting.features.imports import operations as imports
from tests.hosting.features.imports.exports import chatgpt_conversation, claude_conversation, zipped
from tests.hosting.http import conftest

PATH = "/api/sessions/import"
BINARY = {"Content-Type": "application/octet-stream"}
FILE = zipped(conversations_json=[chatgpt_conversation(), claude_conversation(chat_messages=[])])


async def send(client: httpx.AsyncClient, content: Any, **query: str) -> httpx.Response:
    return await client.post(PATH, params=query, content=content, headers=BINARY)


async def titles(client: httpx.AsyncClient) -> list[str]:
    return [each["title"] for each in (await client.get("/api/sessions")).json()["items"]]


async def test_a_file_becomes_sessions_of_the_user_who_sent_it(ada: httpx.AsyncClient, bob: httpx.AsyncClient) -> None:
    tried = (await send(ada, FILE, dry_run="true")).json()
    assert (tried["dry_run"], tried["imported"], await titles(ada)) == (True, 1, [])
    done = (await send(ada, FILE)).json()
    assert (done["ok"], done["imported"], done["skipped"]) == (True, 1, 1)
    assert done["not_imported"] == [{"title": "Notes on reeds", "reason": "it has no messages"}]
    assert (await titles(ada), await titles(bob)) == (["Woodwinds"], [])
    session_id = done["sessions"][0]["session_id"]
    page = (await ada.get(f"/api/sessions/{session_id}/messages")).json()["items"]
    assert [each["at"][:10] for each in page] == ["2023-11-14"] * 4
    assert (await ada.get("/api/search", params={"q": "oboe"})).json()["items"][0]["session_id"] == session_id
    assert (await send(ada, FILE)).json()["imported"] == 0


async def test_an_export_of_the_api_is_here_already_also_under_a_name_that_another_user_took_first(
    ada: httpx.AsyncClient, bob: httpx.AsyncClient, api: conftest.Api
) -> None:
    for client in (ada, bob):
        sent = (await client.post("/api/tasks", json={"content": "hello", "session_id": "notes"})).json()
        await api.until(sent["task_id"], "completed")
        exported = (await client.get("/api/sessions/notes/export")).content
        assert (await send(client, exported)).json()["imported"] == 0


async def test_a_conversation_goes_on_after_its_import(ada: httpx.AsyncClient, api: conftest.Api) -> None:
    session_id = (await send(ada, FILE)).json()["sessions"][0]["session_id"]
    sent = (await ada.post("/api/tasks", json={"content": "and now?", "session_id": session_id})).json()
    await api.until(sent["task_id"], "completed")
    page = (await ada.get(f"/api/sessions/{session_id}/messages")).json()["items"]
    assert [each["content"] for each in page][-2:] == ["and now?", "AND NOW?"]


async def test_a_model_that_the_host_does_not_have_is_left_to_routing(ada: httpx.AsyncClient) -> None:
    record = {"kind": "message", "run_id": "r", "at": None, "message": {"role": "user", "content": "hi"}}
    session = {"id": "s", "title": "T", "model": "no/such", "records": [record]}
    (created,) = (await send(ada, json.dumps(session))).json()["sessions"]
    assert (await ada.get(f"/api/sessions/{created['session_id']}")).json()["model"] is None


async def test_a_file_beyond_the_limit_is_refused_whatever_its_length_says(
    ada: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports, "MAX_FILE_BYTES", 1000)

    async def chunks() -> Any:
        for _ in range(3):
            yield b" " * 500

    for content in (b" " * 1001, chunks()):
        answer = await send(ada, content)
        assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")


async def test_what_is_no_export_and_what_a_form_could_send_is_refused(ada: httpx.AsyncClient) -> None:
    answer = await send(ada, b"hello")
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "input")
    assert "conversations.json of ChatGPT or Claude" in answer.json()["error"]["message"]
    form = await ada.post(PATH, content=FILE, headers={"Content-Type": "text/plain"})
    assert form.status_code == 400
    assert (await send(ada, FILE, dry="1")).status_code == 400


async def test_a_user_has_one_import_at_a_time_and_does_not_keep_others_from_theirs(
    ada: httpx.AsyncClient, bob: httpx.AsyncClient
) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slow() -> Any:
        yield FILE[:10]
        begun.set()
        await go_on.wait()
        yield FILE[10:]

    first = asyncio.create_task(send(ada, slow()))
    await begun.wait()
    while (second := await send(ada, FILE)).status_code != 429:
        assert second.status_code == 200  # the first one's head has not been read yet
    assert second.json()["error"]["code"] == "import_running"
    assert (await send(bob, FILE)).json()["imported"] == 1
    go_on.set()
    assert (await first).status_code == 200


async def test_a_damaged_archive_is_the_senders_error(ada: httpx.AsyncClient) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("conversations.json", json.dumps([chatgpt_conversation()]))
    content = bytearray(packed.getvalue())
    content[60:64] = b"\xff\xff\xff\xff"
    answer = await send(ada, bytes(content))
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "input")
    assert "the archive cannot be read" in answer.json()["error"]["message"]
