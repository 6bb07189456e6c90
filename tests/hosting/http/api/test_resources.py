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
    of_task = (await ada.get(f"/api/tasks/{receipt['task_id']}/events")).json()["items"]
    assert [each for each in of_task if "seq" in each["data"]] == events
    # A trace stands where it belongs, although it has no number.
    assert [each["event"] for each in of_task if "seq" not in each["data"]] == ["tools_offered", "model_attempt"]
    assert [each["event"] for each in of_task][2:5] == ["message", "tools_offered", "model_attempt"]


async def test_a_message_is_sent_into_the_session_of_the_address(api, ada: httpx.AsyncClient) -> None:
    answer = await ada.post("/api/sessions/s/messages", json={"content": "hello"})
    assert (answer.status_code, answer.json()["session_id"]) == (202, "s")
    await api.until(answer.json()["task_id"], "completed")
    assert (await ada.get("/api/sessions/s")).json()["messages"] == 2
    assert (await ada.post("/api/sessions/s/messages", json={"content": "x", "session_id": "t"})).status_code == 400


async def test_a_full_queue_says_when_to_come_again(serve) -> None:
    api = await serve(settings={"Queue": {"Capacity": 1}})
    ada = await api.open("ada")
    await api.host.queue.pause()
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


async def test_a_decision_for_another_session_is_refused(api, ada) -> None:
    receipt = await sent(ada, "pay Bob")
    await api.until(receipt["task_id"], "suspended")
    [asked] = (await ada.get("/api/approvals")).json()["items"]
    path = f"/api/approvals/{asked['approval_id']}"
    other = await ada.post(path, json={"decision": "approve", "session_id": "t"})
    assert (other.status_code, other.json()["error"]["code"]) == (409, "other_session")
    edit = {"decision": "edit", "arguments": {"to": "Eve"}, "session_id": asked["session_id"]}
    assert (await ada.post(path, json=edit)).json()["edited_arguments"] == {"to": "Eve"}


async def test_the_policy_is_shown_and_its_rules_to_operators_only(ada, olga) -> None:
    mine, all_of_it = (await ada.get("/api/policy")).json(), (await olga.get("/api/policy")).json()
    tools = {each["tool"]: each["access"] for each in mine["tools"]}
    assert (tools["pay"], tools["calculator"], tools["system.execute"]) == ("asks", "runs", "asks")
    assert [each["name"] for each in mine["guards"]] == [each["name"] for each in all_of_it["guards"]]
    assert not {"operators", "policy"} & set(mine)
    assert all("rules" not in each and "settings" not in each for each in mine["guards"])
    assert {"operators", "policy"} < set(all_of_it)
    assert all_of_it["policy"]["columns"] == ["verdict", "rule", "actions", "paths", "tier"]


async def test_a_call_is_tried_as_policy_test_does_it(ada) -> None:
    body = {"tool": "files.write", "arguments": {"path": "SOUL.md"}}
    tried = (await ada.post("/api/policy/test", json=body)).json()
    verdict = tuple(tried[key] for key in ("verdict", "tier", "rule", "risk", "access"))
    assert verdict == ("block", 0, "protected_read_only", "high", "asks")
    assert [each["enforced"] for each in tried["assessments"] if each["source"] == "protection"] == [True]
    unknown = (await ada.post("/api/policy/test", json={"tool": "copy_file"})).json()
    assert (unknown["risk"], unknown["access"]) == (None, None)
    large = await ada.post("/api/policy/test", json={"tool": "x", "arguments": {"text": "y" * 20_000}})
    assert (large.status_code, large.json()["error"]["code"]) == (413, "too_large")
    assert (await ada.post("/api/policy/test", json={"tool": ""})).status_code == 400


async def test_a_route_is_explained_to_operators(ada, olga) -> None:
    explained = (await olga.get("/api/routing/explain?text=review+it")).json()["explanation"]
    assert "task type   code_review" in explained
    assert "strategy    Priority" in explained
    assert (await ada.get("/api/routing/explain?text=hello")).status_code == 403
    assert (await olga.get("/api/routing/explain")).status_code == 400


async def test_sessions_are_found_renamed_forked_exported_and_deleted(api, ada: httpx.AsyncClient) -> None:
    await api.until((await sent(ada))["task_id"], "completed")
    assert (await ada.patch("/api/sessions/s", json={"title": "About cats"})).json()["title"] == "About cats"
    assert (await ada.get("/api/sessions?q=CATS")).json()["total"] == 1
    assert (await ada.get("/api/sessions?q=dogs")).json() == {"items": [], "total": 0, "next_cursor": None}
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
    async with asyncio.timeout(30):
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
    info = (await ada.get("/api/models")).json()["items"][0]["models"][0]
    model = info["model"]
    assert info["capabilities"] == []
    assert (await ada.patch("/api/sessions/s", json={"model": model})).json()["model"] == model
    assert (await ada.patch("/api/sessions/s", json={"model": "none such"})).status_code == 404
    both = await ada.patch("/api/sessions/s", json={"title": "About cats", "model": "none such"})
    assert (both.status_code, (await ada.get("/api/sessions/s")).json()["title"]) == (404, "hello")
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


async def test_what_is_somebody_elses_is_answered_like_what_does_not_exist(api, ada, bob) -> None:
    receipt = await sent(ada, "pay Bob")
    await api.until(receipt["task_id"], "suspended")
    [asked] = (await ada.get("/api/approvals")).json()["items"]
    theirs = {"SESSION": "s", "TASK": receipt["task_id"], "APPROVAL": asked["approval_id"]}
    nobodys = {"SESSION": "n", "TASK": "0123456789abcdef0123", "APPROVAL": "apr_0123456789abcdef0123"}

    async def answer(method: str, path: str, body: object, ids: dict[str, str]) -> tuple[int, dict[str, str], str]:
        for name, value in ids.items():
            path = path.replace(name, value)
        given = await bob.request(method, path, json=body)
        headers = {name: value for name, value in given.headers.items() if name not in ("date", "content-length")}
        text = given.text
        for name, value in ids.items():
            text = text.replace(repr(value), name)
        return given.status_code, headers, text

    for method, path, body in (
        ("GET", "/api/sessions/SESSION", None),
        ("GET", "/api/sessions/SESSION/messages", None),
        ("GET", "/api/sessions/SESSION/events", None),
        ("GET", "/api/sessions/SESSION/export", None),
        ("PATCH", "/api/sessions/SESSION", {"title": "mine"}),
        ("PATCH", "/api/sessions/SESSION", {"model": "nothing/like-it"}),
        ("POST", "/api/sessions/SESSION/fork", {}),
        ("DELETE", "/api/sessions/SESSION", None),
        ("GET", "/api/tasks/TASK", None),
        ("GET", "/api/tasks/TASK/events", None),
        ("POST", "/api/tasks/TASK/cancel", None),
        ("GET", "/api/approvals/APPROVAL", None),
        ("POST", "/api/approvals/APPROVAL", {"decision": "approve"}),
        ("GET", "/api/usage?session_id=SESSION", None),
    ):
        refused = await answer(method, path, body, theirs)
        assert refused[0] == 404, (method, path)
        assert refused == await answer(method, path, body, nobodys), (method, path)
    for path in ("/api/tasks", "/api/tasks?session_id=s", "/api/approvals", "/api/approvals?session_id=s"):
        assert (await bob.get(path)).json()["items"] == []
    for path in ("sessions", "tasks", "approvals"):
        everything = await bob.get(f"/api/{path}?everything=true")
        assert (everything.status_code, everything.json()["error"]["code"]) == (403, "forbidden")
    assert (await ada.get(f"/api/tasks/{receipt['task_id']}")).json()["status"] == "suspended"


async def test_ids_that_somebody_else_has_taken_are_free_for_another_user(api, ada, bob) -> None:
    await sent(ada, "secret", session_id="s")
    await sent(ada, "secret", session_id="t")
    receipt = await sent(bob, "hello", session_id="s")
    assert receipt["session_id"] == "s"
    await api.until(receipt["task_id"], "completed")
    assert (await bob.get("/api/sessions/s")).json()["session_id"] == "s"
    assert [each["content"] for each in (await bob.get("/api/sessions/s/messages")).json()["items"]] == [
        "hello",
        "HELLO",
    ]
    events = (await bob.get(f"/api/tasks/{receipt['task_id']}/events")).json()["items"]
    assert {each["data"]["session_id"] for each in events} == {"s"}
    copy = await bob.post("/api/sessions/s/fork", json={"session_id": "t"})
    assert (copy.status_code, copy.json()["session_id"], copy.json()["owner"]) == (201, "t", "bob")
    assert (await bob.post("/api/sessions/s/fork", json={"session_id": "t"})).status_code == 400
    assert (await bob.get("/api/usage?session_id=s")).json()["items"][0]["calls"] == 1
    assert [each["session_id"] for each in (await bob.get("/api/tasks?session_id=s")).json()["items"]] == ["s"]
    assert (await bob.delete("/api/sessions/s")).status_code == 200
    assert (await bob.get("/api/sessions/s")).status_code == 404
    assert (await ada.get("/api/sessions/s")).status_code == 200


async def test_a_host_that_stops_is_not_ready_and_takes_nothing(api, ada: httpx.AsyncClient) -> None:
    await api.host.shutdown()
    assert (await ada.get("/readyz")).status_code == 503
    answer = await ada.post("/api/tasks", json={"content": "hello"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "unavailable")


@pytest.mark.parametrize("query", ["limit=0", "limit=x", "after=-1", "nope=1", "limit=1001", "limit=1&limit=2"])
async def test_wrong_parameters_are_told(api, ada: httpx.AsyncClient, query: str) -> None:
    await api.until((await sent(ada))["task_id"], "completed")
    assert (await ada.get(f"/api/sessions/s/messages?{query}")).status_code == 400


@pytest.mark.parametrize(
    ("given", "title"),
    [("a\x00b\x1b[31m", "a b [31m"), ("\u202eevil\u202c", "evil"), ("one\n two\u2028three", "one two three")],
)
async def test_a_title_is_one_line_without_invisible_characters(
    api, ada: httpx.AsyncClient, given: str, title: str
) -> None:
    await ada.post("/api/tasks", json={"content": "hello", "session_id": "s"})
    assert (await ada.patch("/api/sessions/s", json={"title": given})).json()["title"] == title
    assert (await ada.patch("/api/sessions/s", json={"title": "\u200b\x00"})).status_code == 400


@pytest.mark.parametrize("path", ["/api/tasks", "/api/sessions/s/messages"])
async def test_a_message_sent_again_to_a_full_queue_gets_its_task(api, ada: httpx.AsyncClient, path: str) -> None:
    await api.host.queue.pause()
    body = {"content": "hello", "client_message_id": "1"}
    first = await ada.post(path, json=body)
    full = first
    while full.status_code != 429:
        full = await ada.post("/api/tasks", json={"content": "more"})
    again = await ada.post(path, json=body)
    assert (again.status_code, again.json()["task_id"]) == (200, first.json()["task_id"])
    api.host.is_shutting_down = True
    again = await ada.post(path, json=body)
    assert (again.status_code, again.json()["task_id"]) == (200, first.json()["task_id"])
    assert (await ada.post(path, json={"content": "new"})).status_code == 503
    api.host.is_shutting_down = False
    await api.host.queue.resume()


async def test_a_task_is_cancelled_without_a_body(api, ada: httpx.AsyncClient) -> None:
    await api.host.queue.pause()
    receipt = await sent(ada)
    answer = await ada.post(
        f"/api/tasks/{receipt['task_id']}/cancel", headers={"Content-Type": "application/octet-stream"}
    )
    assert (answer.status_code, answer.json()["status"]) == (200, "cancelled")
    await api.host.queue.resume()


async def test_a_list_of_tasks_has_the_beginning_of_a_large_answer_and_the_task_the_whole(api, ada) -> None:
    task_id = (await sent(ada, "x" * 100_000))["task_id"]
    await api.until(task_id, "completed")
    [listed] = (await ada.get("/api/tasks")).json()["items"]
    whole = (await ada.get(f"/api/tasks/{task_id}")).json()["answer"]
    assert (listed["answer"], listed["answer_is_cut"]) == (whole[:4000], True)
    assert len(whole) == 100_000
