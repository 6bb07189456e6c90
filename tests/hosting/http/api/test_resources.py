import asyncio

import httpx
import pytest


async def sent(client: httpx.AsyncClient, content: str = "hello", **more) -> dict:
    answer = await client.post("/api/tasks", json={"content": content, "session_id": "s", **more})
    assert answer.status_code in (200, 202), answer.text
    return answer.json()


async def test_a_message_becomes_an_answer(api, ada: httpx.AsyncClient) -> None:
    receipt = await sent(ada)
    await api.until(receipt["task_id"], "completed")
    task = (await ada.get(f"/api/tasks/{receipt['task_id']}")).json()
    assert (task["status"], task["answer"], task["finish_reason"]) == ("completed", "HELLO", "stop")
    messages = (await ada.get("/api/sessions/s/messages")).json()
    assert [each["content"] for each in messages["items"]] == ["hello", "HELLO"]
    events = (await ada.get("/api/sessions/s/events")).json()["items"]
    said = [each["data"] for each in events if each["event"] == "message"]
    assert [each["message_id"] for each in said] == [each["message_id"] for each in messages["items"]]
    assert [each["event"] for each in events][-1] == "task_completed"
    assert (await ada.get(f"/api/tasks/{receipt['task_id']}/events")).json()["items"] == events


async def test_the_same_client_message_id_is_the_same_task(ada: httpx.AsyncClient) -> None:
    first = await ada.post("/api/tasks", json={"content": "hello", "client_message_id": "1"})
    again = await ada.post("/api/tasks", json={"content": "hello", "client_message_id": "1"})
    assert (first.status_code, again.status_code) == (202, 200)
    assert first.json()["task_id"] == again.json()["task_id"]


async def test_a_message_is_sent_into_the_session_of_the_address(api, ada: httpx.AsyncClient) -> None:
    answer = await ada.post("/api/sessions/s/messages", json={"content": "hello"})
    assert (answer.status_code, answer.json()["session_id"]) == (202, "s")
    await api.until(answer.json()["task_id"], "completed")
    assert (await ada.get("/api/sessions/s")).json()["messages"] == 2
    assert (await ada.post("/api/sessions/s/messages", json={"content": "x", "session_id": "t"})).status_code == 400


async def test_a_full_queue_says_when_to_come_again(serve) -> None:
    api = await serve(settings={"Queue": {"Capacity": 1}})
    ada = await api.open("ada")
    await api.host.pause()
    await sent(ada)
    answer = await ada.post("/api/tasks", json={"content": "more"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (429, "queue_full")
    assert int(answer.headers["Retry-After"]) == answer.json()["error"]["retry_after_seconds"]


async def test_a_task_is_stopped(api, ada: httpx.AsyncClient) -> None:
    receipt = await sent(ada, "wait")
    await api.until(receipt["task_id"], "running")
    answer = (await ada.post(f"/api/tasks/{receipt['task_id']}/cancel")).json()
    assert (answer["ok"], answer["status"]) == (True, "cancelled")


async def test_a_question_is_listed_and_decided_once(api, ada, olga) -> None:
    receipt = await sent(ada, "pay Bob")
    await api.until(receipt["task_id"], "suspended")
    [asked] = (await ada.get("/api/approvals")).json()["items"]
    path = f"/api/approvals/{asked['approval_id']}"
    assert (asked["tool"], asked["arguments"], asked["status"]) == ("pay", {"to": "Bob"}, "open")
    wrong = await ada.post(path, json={"decision": "edit"})
    assert wrong.status_code == 400
    done = await olga.post(path, json={"decision": "edit", "arguments": {"to": "Eve"}})
    assert (done.json()["status"], done.json()["decided_by"]) == ("decided", "olga")
    late = await ada.post(path, json={"decision": "approve"})
    assert (late.status_code, late.json()["error"]["decided_by"]) == (409, "olga")
    await api.until(receipt["task_id"], "completed")
    assert (await ada.get("/api/approvals")).json() == {"items": []}
    assert len((await ada.get("/api/approvals?open_only=false")).json()["items"]) == 1


async def test_sessions_are_found_renamed_forked_exported_and_deleted(api, ada: httpx.AsyncClient) -> None:
    await api.until((await sent(ada))["task_id"], "completed")
    assert (await ada.patch("/api/sessions/s", json={"title": "About cats"})).json()["title"] == "About cats"
    assert (await ada.get("/api/sessions?q=CATS")).json()["total"] == 1
    assert (await ada.get("/api/sessions?q=dogs")).json() == {"items": [], "total": 0}
    copy = await ada.post("/api/sessions/s/fork", json={"session_id": "t", "upto": 1})
    assert (copy.status_code, copy.json()["messages"]) == (201, 1)
    exported = await ada.get("/api/sessions/s/export")
    assert "attachment" in exported.headers["Content-Disposition"]
    assert len(exported.json()["records"]) == 2
    assert "HELLO" in (await ada.get("/api/sessions/s/export?format=text")).text
    markdown = await ada.get("/api/sessions/s/export?format=markdown")
    assert markdown.text == "# About cats\n\n## You\n\nhello\n\n## Agent\n\nHELLO\n"
    assert (await ada.delete("/api/sessions/s")).json() == {"ok": True}
    assert (await ada.get("/api/sessions/s")).status_code == 404


async def test_deleting_a_session_stops_its_turn_and_what_waits_behind_it(api, ada: httpx.AsyncClient) -> None:
    running, waiting = await sent(ada, "wait"), await sent(ada)
    await api.until(running["task_id"], "running")
    assert (await ada.delete("/api/sessions/s")).json() == {"ok": True}
    for path in ("/api/sessions/s", f"/api/tasks/{running['task_id']}", f"/api/tasks/{waiting['task_id']}"):
        assert (await ada.get(path)).status_code == 404
    assert (await api.host.queue.statistics()).waiting == 0
    await api.until((await sent(ada))["task_id"], "completed")
    assert [each["content"] for each in (await ada.get("/api/sessions/s/messages")).json()["items"]] == [
        "hello",
        "HELLO",
    ]


async def test_a_session_whose_turn_does_not_stop_is_deleted_when_it_has(api, ada: httpx.AsyncClient) -> None:
    task_id = (await sent(ada, "insist"))["task_id"]
    async with asyncio.timeout(10):
        while "tool_call_started" not in (await ada.get(f"/api/tasks/{task_id}/events")).text:
            await asyncio.sleep(0)
    refused = await ada.delete("/api/sessions/s")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "busy")
    assert (await ada.get("/api/sessions/s")).status_code == 200
    api.release.set()
    await api.until(task_id, "cancelled", "completed")
    assert (await ada.delete("/api/sessions/s")).json() == {"ok": True}


async def test_a_session_keeps_its_model_and_an_unknown_one_is_refused(api, ada: httpx.AsyncClient) -> None:
    await api.until((await sent(ada))["task_id"], "completed")
    model = (await ada.get("/api/models")).json()["items"][0]["models"][0]["model"]
    assert (await ada.patch("/api/sessions/s", json={"model": model})).json()["model"] == model
    assert (await ada.patch("/api/sessions/s", json={"model": "none such"})).status_code == 404
    both = await ada.patch("/api/sessions/s", json={"title": "About cats", "model": "none such"})
    assert (both.status_code, (await ada.get("/api/sessions/s")).json()["title"]) == (404, "")
    assert (await ada.patch("/api/sessions/s", json={"title": "  "})).status_code == 400
    assert (await ada.patch("/api/sessions/s", json={"model": None})).json()["model"] is None


async def test_long_logs_come_in_pages(api, ada: httpx.AsyncClient) -> None:
    for _ in range(3):
        await api.until((await sent(ada))["task_id"], "completed")
    seen, after, more = [], 0, True
    while more:
        page = (await ada.get(f"/api/sessions/s/messages?after={after}&limit=4")).json()
        seen += page["items"]
        after, more = page["items"][-1]["seq"], page["more"]
    assert [each["seq"] for each in seen] == [1, 2, 3, 4, 5, 6]


async def test_the_queue_is_an_operators(api, ada, olga) -> None:
    assert (await ada.get("/api/queue")).status_code == 403
    assert (await olga.post("/api/queue/pause")).json()["paused"] is True
    assert (await olga.get("/readyz")).status_code == 503
    assert (await olga.post("/api/queue/drain")).json()["drained"] is True
    assert (await olga.post("/api/queue/resume")).json()["paused"] is False
    assert (await olga.get("/api/queue/dead")).json() == {"items": []}
    assert (await olga.post("/api/queue/dead/none/retry")).status_code == 404


async def test_usage_is_told_beside_its_limits(serve) -> None:
    api = await serve(settings={"Budget": {"Providers": {"*": {"DailyTokens": 1000000, "MonthlyCost": 2.5}}}})
    ada, olga = await api.open("ada"), await api.open("olga")
    await api.until((await sent(ada))["task_id"], "completed")
    assert (await ada.get("/api/usage")).status_code == 403
    own = (await ada.get("/api/usage?session_id=s")).json()
    assert own["items"][0]["calls"] == 1
    [limit] = (await olga.get("/api/usage")).json()["limits"]
    assert (limit["daily_tokens"], limit["monthly_cost_micros"]) == (1000000, 2500000)
    assert limit["tokens_today"] > 0
    assert (await olga.get("/api/usage?since=yesterday")).status_code == 400


async def test_memory_is_each_users_own(api, ada, bob, olga) -> None:
    from sophon.stores import MemoryEntry

    for who in ("ada", "bob"):
        await api.host.services.store.memories.write(MemoryEntry(f"m-{who}", f"{who} likes cats", scope=who))
    assert [each["id"] for each in (await ada.get("/api/memory?q=cats")).json()["items"]] == ["m-ada"]
    assert (await ada.get("/api/memory?everything=true")).status_code == 403
    assert len((await olga.get("/api/memory?everything=true")).json()["items"]) == 2
    assert (await bob.delete("/api/memory/m-ada")).status_code == 404
    assert (await ada.delete("/api/memory/m-ada")).json() == {"ok": True}


async def test_what_is_somebody_elses_stays_theirs(api, ada, bob) -> None:
    receipt = await sent(ada, "pay Bob")
    await api.until(receipt["task_id"], "suspended")
    [asked] = (await ada.get("/api/approvals")).json()["items"]
    task, approval = f"/api/tasks/{receipt['task_id']}", f"/api/approvals/{asked['approval_id']}"
    for method, path, body in (
        ("GET", "/api/sessions/s", None),
        ("GET", "/api/sessions/s/messages", None),
        ("GET", "/api/sessions/s/events", None),
        ("GET", "/api/sessions/s/export", None),
        ("PATCH", "/api/sessions/s", {"title": "mine"}),
        ("POST", "/api/sessions/s/fork", {}),
        ("DELETE", "/api/sessions/s", None),
        ("POST", "/api/tasks", {"content": "x", "session_id": "s"}),
        ("GET", task, None),
        ("GET", f"{task}/events", None),
        ("POST", f"{task}/cancel", None),
        ("GET", approval, None),
        ("POST", approval, {"decision": "approve"}),
        ("GET", "/api/usage?session_id=s", None),
        ("GET", "/api/sessions?everything=true", None),
    ):
        answer = await bob.request(method, path, json=body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "forbidden"), (method, path)
        assert "pay" not in answer.text
    assert (await bob.get("/api/tasks")).json() == (await bob.get("/api/approvals")).json() == {"items": []}


async def test_what_runs_here_is_told(api, ada: httpx.AsyncClient, olga: httpx.AsyncClient) -> None:
    assert (await ada.get("/api/me")).json()["operator"] is False
    chain = (await ada.get("/api/chain")).json()
    assert len(chain["middlewares"]) == 12
    assert "SessionEvents" in chain["explained"]
    assert "failures" not in (await ada.get("/api/models")).json()["items"][0]
    assert (await olga.get("/api/models")).json()["items"][0]["failures"] == 0
    assert {"pay", "calculator"} <= {each["name"] for each in (await ada.get("/api/tools")).json()["items"]}


async def test_a_host_that_stops_is_not_ready_and_takes_nothing(api, ada: httpx.AsyncClient) -> None:
    await api.host.shutdown()
    assert (await ada.get("/readyz")).status_code == 503
    answer = await ada.post("/api/tasks", json={"content": "hello"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "unavailable")


@pytest.mark.parametrize("query", ["limit=0", "limit=x", "after=-1", "nope=1", "limit=1001", "limit=1&limit=2"])
async def test_wrong_parameters_are_told(api, ada: httpx.AsyncClient, query: str) -> None:
    await api.until((await sent(ada))["task_id"], "completed")
    assert (await ada.get(f"/api/sessions/s/messages?{query}")).status_code == 400
