import asyncio

import pytest

from sophon.testing import VirtualClock


async def test_health_readiness_and_metrics_need_no_token(api) -> None:
    client = await api.open(None)
    assert (await client.get("/healthz")).json() == {"status": "ok"}
    assert (await client.get("/readyz")).json()["checks"] == {"worker": "ok", "store": "ok", "queue": "ok"}
    assert (await client.get("/metrics")).text == "sophon_up 1\n"


async def test_why_a_store_does_not_answer_is_for_the_log(api, caplog: pytest.LogCaptureFixture) -> None:
    async def broken() -> None:
        raise RuntimeError("secret of the store")

    api.host.services.store.maintenance.probe = broken
    answer = await (await api.open(None)).get("/readyz")
    assert (answer.status_code, answer.json()["status"]) == (503, "not ready")
    assert (answer.json()["checks"]["worker"], answer.json()["checks"]["queue"]) == ("ok", "ok")
    assert "secret" not in answer.text
    assert "secret" in caplog.text


async def test_a_store_that_hangs_is_not_waited_for(serve) -> None:
    async def hanging() -> None:
        await asyncio.Event().wait()

    api = await serve(clock=VirtualClock())
    api.host.services.store.maintenance.probe = hanging
    answer = await (await api.open(None)).get("/readyz")
    assert (answer.status_code, answer.json()["checks"]["store"]) == (503, "no response within 2 s")


async def test_a_store_that_cannot_be_written_is_not_ready_for_a_reason_and_the_process_is_alive(api) -> None:
    api.host.services.store.health.record_failure("full")
    client = await api.open(None)
    answer = await client.get("/readyz")
    assert (answer.status_code, answer.json()["checks"]["store"]) == (503, "the disk of the store is full")
    assert (await client.get("/healthz")).status_code == 200


async def test_the_check_writes_once_in_five_seconds(serve) -> None:
    api = await serve(clock=VirtualClock(auto=False))
    probes = []

    async def count() -> None:
        probes.append(None)

    api.host.services.store.maintenance.probe = count
    client = await api.open(None)
    for _ in range(3):
        assert (await client.get("/readyz")).status_code == 200
    assert len(probes) == 1


async def test_a_message_to_an_unavailable_store_is_answered_503_and_when_to_try_again(api) -> None:
    api.host.services.store.health.record_failure("full")
    answer = await (await api.open("ada")).post("/api/tasks", json={"content": "hello"})
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
    assert answer.json()["error"]["code"] == "unavailable"
    assert answer.json()["error"]["message"] == "the store is unavailable: the disk of the store is full"


async def test_a_paused_queue_is_not_ready_and_says_that_it_keeps_what_comes(api) -> None:
    await api.host.queue.pause()
    answer = await (await api.open(None)).get("/readyz")
    assert (answer.status_code, answer.json()["checks"]["queue"]) == (
        503,
        "paused: messages are accepted but not processed",
    )
