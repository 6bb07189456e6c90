"""A run that starts at once is not read from the store again; what happened to it meanwhile counts all the same."""

from sophon.testing import VirtualClock
from sophon_hosting.host import Host
from sophon_hosting.runs.active_runs import MAX_AGE_SECONDS, MAX_RUNS, AcceptedRuns
from sophon_hosting.runs.delivery_settlement import INITIAL_BACKOFF_SECONDS
from sophon_hosting.store.runs.contract import Run


def run(task_id: str) -> Run:
    return Run(task_id, "s", "ada", "local", {}, "hello", {})


async def test_a_run_is_taken_once_and_read_again_when_it_is_old() -> None:
    clock = VirtualClock(auto=False)
    runs = AcceptedRuns(clock)
    runs.add(run("a"))
    runs.add(run("b"))
    assert runs.take("a") == run("a")
    assert runs.take("a") is None
    await clock.advance(MAX_AGE_SECONDS + 0.1)
    assert runs.take("b") is None
    runs.add(run("c"))
    runs.forget("c")
    assert runs.take("c") is None


def test_it_keeps_the_newest_runs_only() -> None:
    runs = AcceptedRuns(VirtualClock(auto=False))
    for number in range(MAX_RUNS + 1):
        runs.add(run(f"{number}"))
    assert runs.take("0") is None
    assert runs.take("1") == run("1")


async def test_one_that_another_process_has_cancelled_asks_no_model(world, host: Host) -> None:
    await host.queue.pause()
    receipt = await world.send(host, "wait here")
    await world.store.runs.request_cancel(receipt.task_id)
    await host.queue.resume()
    assert (await world.ended(receipt)).status == "cancelled"
    assert world.begun == []


async def test_one_whose_session_another_process_has_deleted_is_gone(world, host: Host) -> None:
    await host.queue.pause()
    receipt = await world.send(host, "wait here")
    await world.store.sessions.delete("s")
    await host.queue.resume()

    await world.ended(await world.send(host, "hello", "t"))

    async def released() -> bool:
        await world.clock.advance(INITIAL_BACKOFF_SECONDS)  # it is read when it is tried again
        return not host.running_turns and (await host.queue.statistics()).in_flight == 0

    await world.until(released)
    assert world.begun == []
    assert await world.store.runs.list(session_id=receipt.session_id) == []
