"""While the broker is away, messages are accepted and wait in the store; the host says so once."""

import json
import logging

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from sophon.events import TaskCancelled
from sophon_hosting.client_api.http_json import HOST
from sophon_hosting.host import Host
from sophon_hosting.http.health import get_readiness
from sophon_hosting.observability.prometheus_metrics import Metrics
from sophon_hosting.runs.session_deletion import Busy


async def test_messages_are_accepted_in_order_while_the_broker_is_away_and_said_once(group, caplog) -> None:
    host = await group.join()
    await group.ended_later(await group.send(host, "m0"))
    group.broker.set_away(True)
    with caplog.at_level(logging.WARNING):
        receipts = [await group.send(host, f"m{number}") for number in range(1, 6)]
        await group.pass_time(20)
    assert [receipt.created for receipt in receipts] == [True] * 5
    assert not host.queue_health.is_available
    assert len([line for line in caplog.messages if "the queue shared memory is unavailable" in line]) == 1
    group.broker.set_away(False)
    for receipt in receipts:
        assert (await group.ended_later(receipt)).status == "completed"
    assert host.queue_health.is_available
    assert [said for said in await group.said("s") if said.startswith("m")] == [f"m{number}" for number in range(6)]


async def test_a_message_sent_again_while_the_broker_is_away_gets_its_task(group) -> None:
    host = await group.join()
    group.broker.set_away(True)
    first = await group.send(host, "hello", external_id="x")
    again = await group.send(host, "hello", external_id="x")
    assert (again.task_id, again.created) == (first.task_id, False)


async def test_a_message_that_another_host_accepts_during_a_deletion_does_not_vanish(group) -> None:
    first, second = await group.join(), await group.join()
    for host in (first, second):
        await host.queue.pause()
    await group.send(first, "hello")
    delete, receipts = group.store.sessions.delete, []

    async def accept_first(session_id, **options):
        if not receipts:
            receipts.append(await group.send(second, "meanwhile"))
        await delete(session_id, **options)

    group.store.sessions.delete = accept_first
    await first.delete_session("s")
    assert await group.store.sessions.find("s") is None
    assert group.events.of(TaskCancelled)[-1].task_id == receipts[0].task_id


async def test_a_session_that_gets_messages_all_the_time_is_busy_and_stays(group) -> None:
    first, second = await group.join(), await group.join()
    for host in (first, second):
        await host.queue.pause()
    await group.send(first, "hello")
    delete = group.store.sessions.delete

    async def accept_first(session_id, **options):
        await group.send(second, "meanwhile")
        await delete(session_id, **options)

    group.store.sessions.delete = accept_first
    with pytest.raises(Busy):
        await first.delete_session("s")
    assert await group.store.sessions.find("s") is not None


async def ask_readiness(host: Host) -> tuple[int, dict[str, str]]:
    """Return the status and the checks of `/readyz`."""
    application = web.Application()
    application[HOST] = host
    answer = await get_readiness(make_mocked_request("GET", "/readyz", app=application))
    assert isinstance(answer.body, bytes)
    return answer.status, json.loads(answer.body)["checks"]


async def test_a_host_that_has_not_reached_its_broker_since_its_start_is_not_ready(group) -> None:
    group.broker.set_away(True)
    host = await group.join()
    receipt = await group.send(host, "hello")
    assert await ask_readiness(host) == (503, {"worker": "ok", "store": "ok", "queue": "not reached since the start"})
    group.broker.set_away(False)
    assert (await ask_readiness(host))[0] == 503  # it can be reached, and this host does not take from it yet
    assert (await group.ended_later(receipt)).status == "completed"
    assert await ask_readiness(host) == (200, {"worker": "ok", "store": "ok", "queue": "ok"})


async def test_a_host_whose_broker_is_away_is_ready_and_says_so(group) -> None:
    host = await group.join()
    group.broker.set_away(True)
    status, checks = await ask_readiness(host)
    assert (status, checks["worker"], checks["store"]) == (200, "ok", "ok")
    assert checks["queue"].startswith("degraded:")
    metrics = Metrics().render(None).decode()
    assert "sophon_queue_available 0.0" in metrics
    assert "sophon_queue_waiting NaN" in metrics
