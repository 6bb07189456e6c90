"""A lane that the queue holds for a run that has ended is released; one of a suspended run is not."""

import pytest

from sophon_hosting.runs.recovery.reconciler import EARLIER_RUNS


@pytest.mark.parametrize("count", [1, EARLIER_RUNS + 2])
async def test_a_session_goes_on_whose_lane_is_held_for_a_run_that_has_ended(group, count: int) -> None:
    host = await group.join()
    first = await group.send(host, "hello")
    await group.ended(first)
    await group.rest(host)
    assert await host.queue.hold_lane("s", first.task_id)
    receipts = [await group.send(host, f"m{number}") for number in range(count)]
    await group.pass_time(50)
    assert (await group.run(receipts[0])).status == "queued"
    await group.pass_time(30)
    assert [(await group.ended_later(each)).status for each in receipts] == ["completed"] * count


async def test_the_lane_of_a_suspended_run_stays_held(group) -> None:
    host = await group.join()
    await group.suspended(host, await group.send(host, "Pay Bob"))
    later = await group.send(host, "hello")
    await group.pass_time(150)
    assert ((await group.run(later)).status, (await host.queue.statistics()).held_lanes) == ("queued", 1)
