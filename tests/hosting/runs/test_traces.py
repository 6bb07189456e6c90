"""Traces of a host's runs: stored with the outcome, continued after a suspension and a kill, none off the record."""

from dataclasses import replace
from typing import Any

import pytest

from sophon import Decision
from sophon.chain.placement import place
from sophon_hosting.host import Host
from sophon_hosting.runs.traces import find_trace_origin
from sophon_hosting.store.runs.contract import Run
from sophon_middlewares.chains import twelve
from sophon_middlewares.traces.trace import Trace
from tests.hosting.runs.conftest import World

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


def traced(services: Any) -> Any:
    return place(twelve(services), [Trace()])


async def finish(world: World, host: Host, text: str) -> Run:
    receipt = await world.send(host, text)
    return await over(world, receipt)


async def over(world: World, receipt: Any) -> Run:
    async def is_over() -> bool:
        return (await world.run(receipt)).is_finished

    await world.until(is_over)
    return await world.run(receipt)


async def test_a_finished_run_has_a_trace_with_its_outcome(world: World):
    async with world.host(chain=traced) as host:
        run = await finish(world, host, "hello")
        found = await world.store.traces.find(run.id)
    assert found is not None
    assert (found.status, found.finish_reason, len(found.attempts)) == ("completed", "stop", 1)
    assert (found.principal, found.session_id) == (run.owner, run.session_id)
    assert found.stages
    assert found.queued_ms >= 0


async def test_a_host_without_the_middleware_stores_none(world: World):
    async with world.host() as host:
        run = await finish(world, host, "hello")
        assert await world.store.traces.find(run.id) is None


async def wait_suspended(world: World, receipt: Any) -> Run:
    async def is_suspended() -> bool:
        return (await world.run(receipt)).status == "suspended"

    await world.until(is_suspended)
    return await world.run(receipt)


async def test_a_turn_that_waited_for_a_person_tells_waiting_from_working(world: World):
    async with world.host(chain=traced) as host:
        receipt = await world.send(host, "Pay Eve")
        run = await wait_suspended(world, receipt)
        waiting = await world.store.traces.find(run.id)
        assert waiting is not None
        assert (waiting.status, len(waiting.approvals)) == ("suspended", 1)
        await host.approvals.decide(run.waiting_for[0], Decision.approve(), run.owner)
        await over(world, receipt)
        found = await world.store.traces.find(run.id)
    assert found is not None
    assert [each.end for each in found.starts] == ["suspended", "ended"]
    assert (found.status, found.approvals[0].decision, found.approvals[0].decided_by) == (
        "completed",
        "approve",
        run.owner,
    )
    assert len(found.attempts) == 2
    assert [(each.tool, each.outcome) for each in found.tools] == [("pay", "completed")]
    assert found.waiting_ms >= 0


async def test_a_suspended_run_that_is_cancelled_says_so(world: World):
    async with world.host(chain=traced) as host:
        run = await wait_suspended(world, await world.send(host, "Pay Eve"))
        await host.cancel(run.id)
        found = await world.store.traces.find(run.id)
    assert found is not None
    assert (found.status, len(found.attempts)) == ("cancelled", 1)


async def test_a_run_that_a_restart_interrupted_keeps_what_was_logged_before(world: World):
    host = world.host(chain=traced)
    await host.services.open()
    await host.start()
    receipt = await world.send(host, "Stall it")

    async def has_begun() -> bool:
        return bool(world.begun)

    await world.until(has_begun)
    await host.shutdown(grace_seconds=0)
    world.release.set()
    async with world.host(chain=traced):
        run = await over(world, receipt)
        found = await world.store.traces.find(run.id)
    assert found is not None
    assert [each.end for each in found.starts] == ["interrupted", "ended"]
    assert len(found.attempts) == 2
    assert [each.tool for each in found.tools] == ["stall"]


@pytest.mark.parametrize(
    ("header", "parent", "sampled"), [(f"00-{TRACE}-{SPAN}-01", SPAN, True), (f"00-{TRACE}-{SPAN}-00", SPAN, False)]
)
def test_the_span_of_a_run_is_the_same_in_every_start(clock, header: str, parent: str, sampled: bool):
    run = Run("r", "s", options={"trace": TRACE, "traceparent": header}, created_at=clock.now())
    first, second = find_trace_origin(run, clock.now()), find_trace_origin(replace(run, starts=2), clock.now())
    assert first == second
    assert first.sender is not None
    assert (first.context.trace_id, first.sender.span_id, first.context.sampled) == (TRACE, parent, sampled)
    assert first.context.span_id not in (parent, "0" * 16)


async def test_the_sender_of_a_message_is_known_after_a_restart(world: World):
    header = f"00-{TRACE}-{SPAN}-01"
    async with world.host(chain=traced) as host:
        receipt = await world.send(host, "Pay Eve", trace=TRACE, traceparent=header)
        run = await wait_suspended(world, receipt)
    async with world.host(chain=traced) as host:
        await host.approvals.decide(run.waiting_for[0], Decision.approve(), run.owner)
        await over(world, receipt)
        found = await world.store.traces.find(run.id)
    assert found is not None
    assert (found.trace_id, found.parent_span_id, len(found.starts)) == (TRACE, SPAN, 2)
    assert found.span_id == find_trace_origin(run, world.clock.now()).context.span_id
