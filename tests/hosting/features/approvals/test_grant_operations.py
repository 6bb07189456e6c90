"""Approvals in advance over HTTP: given with a decision, listed, revoked, and nobody else's business."""

import httpx


async def decide(api, ada: httpx.AsyncClient, **body: str) -> tuple[str, httpx.Response]:
    """Send a message whose call waits for approval, decide it, and return the task id and the answer."""
    receipt = (await ada.post("/api/tasks", json={"content": "pay Bob", "session_id": "s"})).json()
    await api.until(receipt["task_id"], "suspended")
    [asked] = (await ada.get("/api/approvals")).json()["items"]
    assert asked["grant_offer"] == 'calls of pay with\n  to: "Bob"'
    answer = await ada.post(f"/api/approvals/{asked['approval_id']}", json={"decision": "approve", **body})
    return receipt["task_id"], answer


async def test_a_grant_covers_the_next_call_until_it_is_revoked(api, ada: httpx.AsyncClient) -> None:
    task, answer = await decide(api, ada, grant="session")
    assert (answer.status_code, answer.json()["grant"]) == (200, "session")
    await api.until(task, "completed")

    covered = (await ada.post("/api/tasks", json={"content": "pay Bob", "session_id": "s"})).json()
    await api.until(covered["task_id"], "completed")
    [grant] = (await ada.get("/api/grants")).json()["items"]
    assert {key: grant[key] for key in ("scope", "user", "session_id", "tool", "granted_by")} == {
        "scope": "session",
        "user": "ada",
        "session_id": "s",
        "tool": "pay",
        "granted_by": "ada",
    }

    path = f"/api/grants/{grant['grant_id']}"
    assert (await ada.delete(path)).json()["ok"]
    assert (await ada.delete(path)).status_code == 404
    assert (await ada.get("/api/grants")).json() == {"items": []}
    asked = (await ada.post("/api/tasks", json={"content": "pay Bob", "session_id": "s"})).json()
    await api.until(asked["task_id"], "suspended")


async def test_a_grant_of_another_user_does_not_exist_except_for_operators(api, ada, bob, olga) -> None:
    task, _ = await decide(api, ada, grant="always")
    await api.until(task, "completed")
    [grant] = (await ada.get("/api/grants")).json()["items"]
    path = f"/api/grants/{grant['grant_id']}"

    assert (await bob.get("/api/grants")).json() == {"items": []}
    assert (await bob.get("/api/grants?everything=true")).status_code == 403
    assert (await ada.get(path)).json() == grant
    for ask in (bob.get, bob.delete):
        assert [(await ask(each)).status_code for each in (path, "/api/grants/none")] == [404, 404]
    assert (await olga.get("/api/grants")).json() == {"items": []}
    assert len((await olga.get("/api/grants?everything=true")).json()["items"]) == 1
    assert (await olga.delete(path)).status_code == 200


async def test_a_grant_belongs_to_an_approval(api, ada: httpx.AsyncClient) -> None:
    for body in ({"decision": "reject", "grant": "always"}, {"grant": "forever"}, {"grant": True}):
        receipt = (await ada.post("/api/tasks", json={"content": "pay Bob"})).json()
        await api.until(receipt["task_id"], "suspended")
        asked = (await ada.get("/api/approvals")).json()["items"][-1]
        wrong = await ada.post(f"/api/approvals/{asked['approval_id']}", json={"decision": "approve", **body})
        assert wrong.status_code == 400
    assert (await ada.get("/api/grants")).json() == {"items": []}
