"""Feedback and trajectories over HTTP: one's own, and nobody else's business."""

from dataclasses import replace
from typing import Any

import httpx
import pytest

from sophon.learning.hashing_embedder import HashingEmbedder
from sophon.learning.trajectories import Trajectory
from sophon.stores.trajectories.trajectory_write import TrajectoryWrite


async def finish(api: Any, client: httpx.AsyncClient, text: str = "hello") -> str:
    """Send a message, wait for its answer, and leave its trajectory."""
    task = (await client.post("/api/tasks", json={"content": text})).json()["task_id"]
    await api.until(task, "completed")
    run = await api.host.services.store.runs.get(task)
    at = api.host.services.clock.now()
    quality = 0.9 if text == "hello" else 0.5
    found = Trajectory(task, run.session_id, run.owner, at, text, run.response["text"], quality=quality)
    await api.host.services.store.trajectories.add([TrajectoryWrite(found, 10)])
    return task


async def test_feedback_is_given_changed_and_taken_back(api, ada: httpx.AsyncClient) -> None:
    task = await finish(api, ada)
    path = f"/api/tasks/{task}/feedback"
    assert (await ada.get(path)).json() == {"task_id": task, "value": None, "text": ""}
    given = await ada.post(path, json={"value": -1, "text": "it is Ada", "source": "page"})
    assert (given.status_code, given.json()) == (200, {"ok": True, "task_id": task, "value": -1})
    assert (await ada.get(path)).json() == {"task_id": task, "value": -1, "text": "it is Ada"}
    await ada.post(path, json={"value": 1})
    assert (await ada.get(path)).json() == {"task_id": task, "value": 1, "text": ""}
    assert (await ada.get(f"/api/trajectories/{task}")).json()["feedback"] == 1
    await ada.post(path, json={"value": 0})
    assert (await ada.get(path)).json()["value"] is None


@pytest.mark.parametrize(
    "body", [{}, {"value": 2}, {"value": "up"}, {"value": True}, {"value": 1, "text": "x" * 4001}, {"value": 1, "x": 1}]
)
async def test_what_is_no_feedback_is_refused(api, ada: httpx.AsyncClient, body: dict[str, Any]) -> None:
    task = await finish(api, ada)
    assert (await ada.post(f"/api/tasks/{task}/feedback", json=body)).status_code == 400


async def test_a_task_of_another_user_takes_no_feedback_and_has_no_trajectory(api, ada, bob, olga) -> None:
    task = await finish(api, ada)
    for method, path in (("POST", f"/api/tasks/{task}/feedback"), ("GET", f"/api/trajectories/{task}")):
        answer = await bob.request(method, path, json={"value": 1} if method == "POST" else None)
        assert answer.status_code == 404
    assert (await bob.get("/api/trajectories")).json() == {"items": []}
    assert (await bob.get("/api/trajectories?everything=true")).status_code == 403
    assert (await olga.get("/api/trajectories")).json() == {"items": []}
    assert [each["run_id"] for each in (await olga.get("/api/trajectories?everything=true")).json()["items"]] == [task]
    assert (await olga.get(f"/api/trajectories/{task}")).status_code == 200


async def test_trajectories_are_listed_by_quality_and_similarity(api, ada: httpx.AsyncClient) -> None:
    poor, good = await finish(api, ada, "review the parser"), await finish(api, ada)

    async def ids(**query: Any) -> list[str]:
        items = (await ada.get("/api/trajectories", params=query)).json()["items"]
        return [each["run_id"] for each in items]

    assert await ids() == [good, poor]
    assert await ids(order="best") == [good]
    assert await ids(order="poorest") == [poor]
    assert await ids(limit=1) == [good]
    assert (await ada.get("/api/trajectories", params={"like": "parsers"})).status_code == 400
    api.host.services.learning = replace(api.host.services.learning, embedder=HashingEmbedder(64))
    assert await ids(like="parsers", limit=1) == [poor]
    assert (await ada.get("/api/trajectories", params={"order": "worst"})).status_code == 400
