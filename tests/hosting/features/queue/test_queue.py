"""The queue of a host and its dead letters, over HTTP."""

from sophon_channels.outbound_entry import OutboundEntry


async def test_the_queue_is_an_operators(api, ada, olga) -> None:
    assert (await ada.get("/api/queue")).status_code == 403
    assert (await olga.post("/api/queue/pause")).json()["paused"] is True
    assert (await olga.get("/readyz")).status_code == 503
    assert (await olga.post("/api/queue/drain")).json()["drained"] is True
    assert (await olga.post("/api/queue/resume")).json()["paused"] is False
    assert (await olga.get("/api/queue/dead")).json() == {"items": []}
    assert (await olga.post("/api/queue/dead/none/retry")).status_code == 404


async def test_a_message_that_was_not_delivered_is_a_dead_letter_that_an_operator_sends_again(api, ada, olga) -> None:
    outbox = api.host.services.store.outbox
    await outbox.add([OutboundEntry("e", None, "telegram", "bot", "7", "text", {"text": "hello"})])
    await outbox.mark_dead("e", "403: blocked")
    [letter] = (await olga.get("/api/queue/dead")).json()["items"]
    assert (letter["kind"], letter["id"]) == ("message", "e")
    assert (await olga.get("/api/queue")).json()["undelivered"] == 1
    assert (await ada.get("/api/queue/dead")).status_code == 403
    assert (await ada.post("/api/queue/dead/e/retry")).status_code == 403
    assert (await olga.post("/api/queue/dead/e/retry")).status_code == 200
    assert (await outbox.get("e")).status == "pending"
    assert (await olga.post("/api/queue/dead/e/retry")).status_code == 404
