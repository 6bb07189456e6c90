"""`/api/goals`: made, shown, paused, resumed and cancelled by their owner; for others they do not exist."""

import httpx

from sophon_hosting.features.goals.stored_goals import stored_goals

GOALS = {"Goals": {"Enabled": True}}


async def test_a_goal_is_made_shown_paused_resumed_and_cancelled(serve) -> None:
    api = await serve(settings=GOALS)
    ada = await api.open("ada")
    made = await ada.post("/api/goals", json={"title": "Birds", "description": "List them", "session_id": "s"})
    assert made.status_code == 201
    goal = made.json()
    assert {key: goal[key] for key in ("title", "state", "user", "session_id", "autonomy", "priority")} == {
        "title": "Birds",
        "state": "planning",
        "user": "ada",
        "session_id": "s",
        "autonomy": "semi",
        "priority": 8,
    }
    assert goal["spend"]["planning_tokens"] == {"used": 0, "limit": 2000}
    assert len(goal["spend"]) == 7
    assert (goal["graph"], goal["next_tick"] is not None) == ([], True)
    path = f"/api/goals/{goal['goal_id']}"
    assert [each["goal_id"] for each in (await ada.get("/api/goals")).json()["items"]] == [goal["goal_id"]]
    assert (await ada.post(f"{path}/pause")).json()["state"] == "paused"
    assert (await ada.get(path)).json()["pause"] == "person"
    assert (await ada.post(f"{path}/resume")).json()["state"] == "planning"
    assert (await ada.post(f"{path}/cancel")).json()["state"] == "cancelled"
    refused = await ada.post(f"{path}/resume")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "illegal_transition")
    assert (await ada.delete(path)).json() == {"ok": True}
    assert ((await ada.get(path)).status_code, (await ada.get("/api/goals")).json()) == (
        404,
        {"items": [], "enabled": True},
    )
    assert [each["session_id"] for each in (await ada.get("/api/sessions")).json()["items"]] == ["s"]


async def test_a_goal_of_another_user_does_not_exist_except_for_operators(serve) -> None:
    api = await serve(settings=GOALS)
    ada, bob, olga = [await api.open(user) for user in ("ada", "bob", "olga")]
    goal_id = (await ada.post("/api/goals", json={"title": "Birds"})).json()["goal_id"]
    requests = [("GET", ""), ("POST", "/pause"), ("POST", "/resume"), ("POST", "/cancel"), ("DELETE", "")]
    for method, end in requests:
        known = await bob.request(method, f"/api/goals/{goal_id}{end}")
        unknown = await bob.request(method, f"/api/goals/none{end}")
        assert (known.status_code, unknown.status_code) == (404, 404)
        assert known.json()["error"]["code"] == unknown.json()["error"]["code"] == "not_found"
    assert (await bob.get("/api/goals")).json() == {"items": [], "enabled": True}
    assert (await bob.get("/api/goals?everything=true")).status_code == 403
    assert len((await olga.get("/api/goals?everything=true")).json()["items"]) == 1
    assert (await olga.post(f"/api/goals/{goal_id}/pause")).status_code == 200


async def test_what_is_wrong_is_refused_in_a_sentence(serve) -> None:
    api = await serve(settings={"Goals": {"Enabled": True, "MaxAutonomy": "Semi", "Limits": {"ActiveGoals": 1}}})
    ada: httpx.AsyncClient = await api.open("ada")
    for body in (
        {"title": " "},
        {"title": "x" * 200},
        {"title": "a", "autonomy": "yolo"},
        {"title": "a", "autonomy": "full"},
    ):
        answer = await ada.post("/api/goals", json=body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "input"), body
    assert (await ada.post("/api/goals", json={"title": "One"})).status_code == 201
    many = await ada.post("/api/goals", json={"title": "Two"})
    assert many.json()["error"]["code"] == "budget_exceeded"
    assert "Goals.Limits.ActiveGoals" in many.json()["error"]["message"]


async def test_no_goal_is_made_where_nobody_would_work_on_it(api, ada: httpx.AsyncClient) -> None:
    refused = await ada.post("/api/goals", json={"title": "Birds"})
    assert (refused.status_code, "Goals.Enabled" in refused.json()["error"]["message"]) == (400, True)
    assert (await ada.get("/api/goals")).json() == {"items": [], "enabled": False}


async def test_clients_cannot_choose_the_session_in_which_a_goal_works(serve) -> None:
    api = await serve(settings=GOALS)
    bob = await api.open("bob")
    await bob.post("/api/tasks", json={"content": "hello", "session_id": "goal-x"})
    stored = [each.id for each in await api.host.services.store.sessions.list()]
    assert "goal-x" not in stored
    assert [each.partition("\u241f")[0] for each in stored] == ["goal-x"]


async def test_a_list_of_goals_has_1_to_1000(serve) -> None:
    api = await serve(settings=GOALS)
    ada = await api.open("ada")
    for limit in ("-1", "0", "1001"):
        answer = await ada.get(f"/api/goals?limit={limit}")
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "input")


async def test_a_goal_reports_to_the_session_of_its_owner_not_to_one_of_the_same_name(serve) -> None:
    api = await serve(settings=GOALS)
    ada, bob = await api.open("ada"), await api.open("bob")
    for user in (ada, bob):
        made = await user.post("/api/goals", json={"title": "Birds", "session_id": "shared"})
        assert (made.status_code, made.json()["session_id"]) == (201, "shared")
    store = api.host.services.store
    stored = {goal.owner: goal.session_id for goal in await stored_goals(store).list()}
    assert len(set(stored.values())) == 2
    for owner, session_id in stored.items():
        assert (await store.sessions.get(session_id)).owner == owner
