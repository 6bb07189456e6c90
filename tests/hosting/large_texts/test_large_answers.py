"""Answers of any size over a real connection: each has one outcome that is heard, and the text that was produced."""

import json

import httpx
import pytest

from sophon_hosting.events.missed_events import MAX_MISSED_BYTES
from sophon_hosting.programs.chat.approval_prompt import TerminalApprovalGate
from sophon_hosting.programs.chat.chat_session import TurnChoices
from sophon_hosting.programs.chat.remote_turn import RemoteTurnClient
from tests.long_texts import MEGABYTE, text_of

ENDS = ("task_completed", "task_failed", "task_cancelled")
FRAME_BYTES = 1_000_000


@pytest.mark.parametrize("size", [2_100_000, 6 * MEGABYTE])
async def test_a_large_answer_has_one_outcome_that_is_heard_and_its_text_is_whole(serve, size: int) -> None:
    served = await serve()
    listener = await served.listener()
    sent = await listener.call("send_message", {"content": f"write {size}", "session_id": "s"})
    outcome = await listener.outcome()

    assert (len(listener.of(*ENDS)), listener.disconnects) == (1, 0)
    assert max(len(json.dumps(data)) for _, data in listener.heard) < FRAME_BYTES
    assert text_of(size).startswith(outcome["text"])
    assert outcome["large"]["text"]["characters"] == size
    assert (await served.get(outcome["large"]["text"]["url"]))["text"] == text_of(size)
    assert (await served.get(f"/api/tasks/{sent['task_id']}"))["answer"] == text_of(size)


async def test_a_session_with_a_large_answer_can_be_joined_from_the_beginning_and_exported(serve) -> None:
    size = 2_100_000
    served = await serve()
    listener = await served.listener()
    await listener.call("send_message", {"content": f"write {size}", "session_id": "s"})
    await listener.outcome()

    joined = await (await served.listener()).call("join_session", {"session_id": "s", "last_seq": 0})
    assert len(json.dumps(joined)) < FRAME_BYTES
    assert [each["event"] for each in joined["events"]][-1] == "task_completed"
    assert "partial" not in joined
    exported = await served.get("/api/sessions/s/export")
    assert exported["records"][-1]["message"]["content"] == text_of(size)
    page = await served.get("/api/sessions/s/messages")
    assert [len(each["content"]) for each in page["items"]] == [len(f"write {size}"), size]


def shown_of(length: int) -> str:
    """What is shown of a reply that goes on: the last word, which may become a secret, is held back."""
    text, space, _ = text_of(length).rpartition(" ")
    return text + space


async def test_a_client_that_joins_during_a_large_reply_gets_the_text_so_far(serve) -> None:
    served = await serve()
    first = await served.listener()
    await first.call("send_message", {"content": f"half {3 * MEGABYTE}", "session_id": "s"})
    await served.model.reached.wait()
    joined = await (await served.listener()).call("join_session", {"session_id": "s"})
    chunk = joined["events"][-1]["data"]
    whole = await served.get(chunk["large"]["text"]["url"])
    served.model.gate.set()
    await first.outcome()
    assert (chunk["offset"], whole["text"]) == (0, shown_of(3 * MEGABYTE))
    assert await served.get(chunk["large"]["text"]["url"]) == {"text": None}


async def test_a_client_that_joins_during_a_medium_reply_gets_chunks(serve) -> None:
    served = await serve()
    first = await served.listener()
    await first.call("send_message", {"content": "half 200000", "session_id": "s"})
    await served.model.reached.wait()
    joined = await (await served.listener()).call("join_session", {"session_id": "s"})
    chunks = [each["data"] for each in joined["events"] if each["event"] == "stream_chunk"]
    served.model.gate.set()
    await first.outcome()
    assert "".join(each["text"] for each in chunks) == text_of(200_000)
    assert [each["offset"] for each in chunks] == list(range(0, 200_000, 16 * 1024))


async def test_what_a_failed_turn_has_shown_is_whole_too(serve) -> None:
    served = await serve()
    listener = await served.listener()
    sent = await listener.call("send_message", {"content": f"break {3 * MEGABYTE}", "session_id": "s"})
    await served.model.reached.wait()
    served.model.gate.set()
    outcome = await listener.outcome()
    assert listener.of("task_failed") == [outcome]
    assert (await served.get(outcome["large"]["text"]["url"]))["text"] == shown_of(3 * MEGABYTE)
    assert (await served.get(f"/api/tasks/{sent['task_id']}"))["answer"] == shown_of(3 * MEGABYTE)


async def test_what_belongs_to_others_does_not_exist(serve) -> None:
    served = await serve()
    listener = await served.listener()
    await listener.call("send_message", {"content": "write 100000", "session_id": "s"})
    url = (await listener.outcome())["large"]["text"]["url"]
    assert await served.get(url, "token-of-bob") == 404
    assert await served.get("/api/sessions/s/messages/s:2", "token-of-bob") == 404
    await served.get("/api/sessions/s", "token-of-bob")
    other = await served.listener("token-of-bob")
    await other.call("join_session", {"session_id": "s"})  # a session of bob's own
    assert await served.get(url, "token-of-bob") == 404


async def test_a_text_and_a_message_are_not_sent_again_to_who_has_them(serve) -> None:
    served = await serve()
    listener = await served.listener()
    await listener.call("send_message", {"content": "write 100000", "session_id": "s"})
    url = (await listener.outcome())["large"]["text"]["url"]
    headers = {"Authorization": "Bearer token-of-ada"}
    for path in (url, "/api/sessions/s/messages/s:2", "/api/sessions/s/messages/2"):
        async with served.http.get(served.url + path, headers=headers) as response:
            assert (response.status, response.headers["Cache-Control"]) == (200, "private, no-cache")
            etag = response.headers["ETag"]
        assert await served.get(path, **{"If-None-Match": etag}) == 304
        assert await served.get(path, "token-of-bob", **{"If-None-Match": etag}) == 404


async def test_a_deleted_session_has_no_texts_any_more(serve) -> None:
    served = await serve()
    listener = await served.listener()
    await listener.call("send_message", {"content": "write 100000", "session_id": "s"})
    url = (await listener.outcome())["large"]["text"]["url"]
    async with served.http.delete(
        f"{served.url}/api/sessions/s", headers={"Authorization": "Bearer token-of-ada"}
    ) as response:
        assert response.status == 200
    assert await served.get(url) == 404


async def test_messages_are_paged_by_size_too_and_no_page_is_empty(serve) -> None:
    served = await serve()
    listener = await served.listener()
    for number in range(3):
        listener.heard.clear()
        await listener.call("send_message", {"content": f"write {800_000 + number}", "session_id": "s"})
        await listener.outcome()
    seqs, after = [], 0
    while True:
        page = await served.get(f"/api/sessions/s/messages?after={after}")
        seqs.append([each["seq"] for each in page["items"]])
        after = seqs[-1][-1]
        if not page["more"]:
            break
    assert (seqs[0], seqs[1][:2], len(seqs)) == ([1, 2, 3, 4], [5, 6], 2)
    page = await served.get("/api/sessions/s/messages?before=7")
    assert ([each["seq"] for each in page["items"]], page["more"]) == ([4, 5, 6], True)


async def test_a_page_of_messages_can_be_asked_for_with_large_texts_cut(serve) -> None:
    served = await serve()
    listener = await served.listener()
    await listener.call("send_message", {"content": "write 2000000", "session_id": "s"})
    await listener.outcome()
    page = await served.get("/api/sessions/s/messages?cut=true")
    item = page["items"][-1]
    assert len(item["content"]) == 4000
    assert (await served.get(item["large"]["content"]["url"]))["text"] == text_of(2_000_000)


async def test_completions_of_the_openai_api_are_whole(serve) -> None:
    served = await serve()
    body = {"model": "sophon", "messages": [{"role": "user", "content": "write 3000000"}]}
    headers = {"Authorization": "Bearer token-of-ada"}
    async with httpx.AsyncClient(base_url=served.url, headers=headers, timeout=60, trust_env=False) as client:
        whole = (await client.post("/v1/chat/completions", json=body)).json()
        streamed = (await client.post("/v1/chat/completions", json={**body, "stream": True})).text
    assert whole["choices"][0]["message"]["content"] == text_of(3_000_000)
    lines = [line.removeprefix("data: ") for line in streamed.split("\n\n") if line.startswith("data: {")]
    pieces = [json.loads(line)["choices"][0]["delta"].get("content") or "" for line in lines]
    assert "".join(pieces) == text_of(3_000_000)


@pytest.mark.parametrize("verb", ["write", "look"])
async def test_the_terminal_client_gets_whole_texts(serve, verb: str) -> None:
    served = await serve()
    events = []
    gate: TerminalApprovalGate = None  # type: ignore[assignment] # nothing is asked
    turn = RemoteTurnClient(served.url, "token-of-ada", gate, events.append, lambda line: None)
    response = await turn.run_turn(f"{verb} 3000000", TurnChoices(session="s"))
    earlier = "Let me look.\n\n" if verb == "look" else ""
    assert response.text == earlier + text_of(3_000_000)
    assert events[-1].text == response.text


async def test_a_replay_is_smaller_than_a_frame_however_many_events_there_are(serve) -> None:
    served = await serve()
    listener = await served.listener()
    for _ in range(40):
        listener.heard.clear()
        await listener.call("send_message", {"content": "x" * 30_000, "session_id": "s"})
        await listener.outcome()
    joined = await listener.call("join_session", {"session_id": "s", "last_seq": 0})
    assert len(json.dumps(joined["events"])) <= MAX_MISSED_BYTES * 1.05
    assert joined["partial"]
    again = await listener.call("join_session", {"session_id": "s", "last_seq": joined["seq"]})
    assert (again["events"], again["seq"]) == ([], joined["seq"])
