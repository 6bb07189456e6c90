import asyncio

import pytest

from sophon.testing import VirtualClock


async def test_health_readiness_and_metrics_need_no_token(api) -> None:
    client = await api.open(None)
    assert (await client.get("/healthz")).json() == {"status": "ok"}
    assert (await client.get("/readyz")).json()["checks"] == {"worker": "ok", "store": "ok", "queue": "ok"}
    assert (await client.get("/metrics")).text == "sophon_up 1\n"


async def test_why_a_store_does_not_answer_is_for_the_log(api, caplog: pytest.LogCaptureFixture) -> None:
    class Broken:
        async def load_entries(self, run_id: str):
            raise RuntimeError("secret of the store")

    api.host.services.store.journal = Broken()
    answer = await (await api.open(None)).get("/readyz")
    assert (answer.status_code, answer.json()["status"]) == (503, "not ready")
    assert (answer.json()["checks"]["worker"], answer.json()["checks"]["queue"]) == ("ok", "ok")
    assert "secret" not in answer.text
    assert "secret" in caplog.text


async def test_a_store_that_hangs_is_not_waited_for(serve) -> None:
    class Hanging:
        async def load_entries(self, run_id: str):
            await asyncio.Event().wait()

    api = await serve(clock=VirtualClock())
    api.host.services.store.journal = Hanging()
    answer = await (await api.open(None)).get("/readyz")
    assert (answer.status_code, answer.json()["checks"]["store"]) == (503, "no response within 2 s")


async def test_a_paused_queue_is_not_ready_and_says_that_it_keeps_what_comes(api) -> None:
    await api.host.pause()
    answer = await (await api.open(None)).get("/readyz")
    assert (answer.status_code, answer.json()["checks"]["queue"]) == (
        503,
        "paused: messages are accepted but not processed",
    )
