"""What becomes of runs when a host starts or dies, or the queue loses its memory: nothing is lost or run twice."""

import logging
from collections.abc import Sequence
from dataclasses import replace

import pytest

from sophon import Context, Next, Pipeline, Response
from sophon.events import StreamReset
from sophon_hosting.fanout.local_fanout import LocalFanout
from sophon_hosting.queue.contract import QueueEntry
from sophon_middlewares.chains import twelve
from tests.hosting.several_hosts.conftest import LEASE_SECONDS
from tests.shared_memory_queue import SharedMemoryQueue


class NothingIsMissing(SharedMemoryQueue):
    """The guarantee taken away."""

    async def find_missing(self, entries: Sequence[QueueEntry]) -> list[QueueEntry]:
        return []


async def test_a_host_that_starts_leaves_the_runs_of_living_hosts_alone(group) -> None:
    first = await group.join()
    receipt = await group.send(first, "wait a")
    await group.begun_by(first)
    await group.join({"AgentExecution": {"Recovery": "Fail"}})
    await group.pass_time(10)
    group.release.set()
    run = await group.ended_later(receipt)
    assert (run.status, run.starts, group.begun) == ("completed", 1, ["a"])


async def test_the_run_of_a_host_that_died_is_resumed_by_another_and_its_events_are_there_once(group) -> None:
    first = await group.join()
    receipt = await group.send(first, "wait a", stream=True)
    await group.begun_by(first)
    await group.pass_time(1)
    await group.kill(first)
    group.release.set()
    await group.join()
    run = await group.ended_later(receipt)
    assert (run.status, run.starts, group.begun) == ("completed", 2, ["a", "a"])
    assert await group.said("s") == ["wait a", "WAIT A"]
    names = await group.names("s")
    assert [names.count(name) for name in ("task_queued", "task_started", "task_completed")] == [1, 1, 1]
    assert [event.epoch for event in group.events.of(StreamReset)] == [2]


async def test_a_run_that_was_interrupted_fails_where_the_settings_say_so(group) -> None:
    first = await group.join()
    receipt = await group.send(first, "wait a")
    await group.begun_by(first)
    await group.kill(first)
    await group.join({"AgentExecution": {"Recovery": "Fail"}})
    run = await group.ended_later(receipt)
    assert (run.status, run.error.code, group.begun) == ("failed", "interrupted", ["a"])
    assert await group.names("s") == ["task_queued", "task_started", "message", "task_failed"]


async def accept_many(group, queue_class=SharedMemoryQueue) -> list:
    """One task that runs and six that wait, of two sessions; then the queue loses its memory."""
    host = await group.join({"AgentExecution": {"MaxConcurrentTasks": 1}}, queue=queue_class(group.broker))
    receipts = [await group.send(host, "wait a", "s0")]
    await group.begun_by(host)
    receipts += [await group.send(host, f"m{number}", f"s{number % 2}") for number in range(1, 7)]
    group.broker.flush()
    return receipts


async def test_a_queue_that_lost_its_memory_gets_everything_back_in_order(group) -> None:
    receipts = await accept_many(group)
    await group.join()
    group.release.set()
    runs = [await group.ended_later(receipt) for receipt in receipts]
    assert [run.status for run in runs] == ["completed"] * 7
    assert [said for said in await group.said("s1") if said.startswith("m")] == ["m1", "m3", "m5"]
    assert [said for said in await group.said("s0") if said.startswith("m")] == ["m2", "m4", "m6"]


async def test_without_the_question_what_is_missing_it_would_be_lost(group) -> None:
    receipts = await accept_many(group, NothingIsMissing)
    await group.join(queue=NothingIsMissing(group.broker))
    group.release.set()
    await group.pass_time(4 * LEASE_SECONDS)
    assert "queued" in {(await group.run(receipt)).status for receipt in receipts}


async def test_a_task_that_kills_its_hosts_fails_and_is_a_dead_letter(group) -> None:
    receipt = None
    for count in range(1, 4):
        victim = await group.join()
        receipt = receipt or await group.send(victim, "wait a")

        async def has_begun(count=count) -> bool:
            return len(group.begun) == count

        await group.later(has_begun)
        await group.kill(victim)
    survivor = await group.join()
    run = await group.ended_later(receipt)
    assert (run.status, run.error.code, run.starts >= 3) == ("failed", "gave_up", True)
    assert [letter.entry.task_id for letter in await survivor.queue.list_dead_letters()] == [run.id]
    assert await group.names("s") == ["task_queued", "task_started", "message", "task_failed"]


async def test_a_run_that_was_suspended_by_a_host_that_died_before_its_ack_waits_on(group) -> None:
    first = await group.join()
    receipt = await group.send(first, "Pay Bob")
    run = await group.status(receipt, "suspended")
    await group.rest(first)
    await first.queue.put(group.resume(run))  # as if it had not been acked
    await group.rest(first)
    await group.pass_time(5)
    assert ((await group.run(receipt)).starts, (await group.run(receipt)).status) == (1, "suspended")
    assert (await first.queue.statistics()).held_lanes == 1


async def test_a_queue_that_cannot_be_reached_at_the_start_is_joined_later(group) -> None:
    group.broker.set_away(True)
    host = await group.join()
    receipt = await group.send(host, "hello")
    await group.pass_time(5)
    assert (await group.run(receipt)).status == "queued"
    group.broker.set_away(False)
    assert (await group.ended_later(receipt)).status == "completed"


async def test_a_start_that_was_loaded_before_the_checkpoint_of_the_earlier_one_runs_no_call_again(
    group, monkeypatch
) -> None:
    """Both waited for the store: the earlier start stores its call between the read and the begin of the later one."""
    first = await group.join()
    receipt = await group.send(first, "Stall here")
    await group.begun_by(first)
    await group.kill(first)
    read, reads = group.store.runs.get, []

    async def read_too_early(run_id: str):
        run = await read(run_id)
        reads.append(run.checkpoint)
        return replace(run, checkpoint=None) if len(reads) == 1 else run

    monkeypatch.setattr(group.store.runs, "get", read_too_early)
    await group.join()
    group.release.set()

    async def is_over() -> bool:
        return (await read(receipt.task_id)).is_finished

    await group.later(is_over)
    assert reads[0] is not None
    assert group.clock.monotonic() < 2 * LEASE_SECONDS  # the lease of the dead host, and no further one
    assert ((await read(receipt.task_id)).status, group.begun) == ("completed", ["here"])
    assert (await group.said("s"))[0] == "Stall here"
    assert (await group.names("s")).count("tool_call_started") == 1
    assert len([text for text in await group.said("s") if text == "Stall here"]) == 1


async def shout(ctx: Context, next: Next) -> None:
    ctx.response = Response(ctx.text.upper(), "stop")


@pytest.mark.parametrize("chain", [twelve, lambda services: Pipeline.compose(shout)], ids=["chain", "worker"])
async def test_a_run_whose_text_was_replaced_after_it_was_read_is_begun_at_once_with_the_new_one(
    group, monkeypatch, caplog, chain
) -> None:
    """By its chain, or by the worker where the chain does not begin it."""
    host = group.host(queue=SharedMemoryQueue(group.broker), fanout=LocalFanout(group.network), chain=chain)
    await host.start()
    begin, texts = group.store.runs.begin, []

    async def replace_first(run_id: str, *arguments, **named):
        texts.append(named["seen_text"])
        if len(texts) == 1:
            assert await host.replace_text(run_id, "the", {})
        return await begin(run_id, *arguments, **named)

    monkeypatch.setattr(group.store.runs, "begin", replace_first)
    with caplog.at_level(logging.INFO):
        receipt = await group.send(host, "teh")
        run = await group.ended(receipt)
    assert (run.status, run.starts, texts) == ("completed", 1, ["teh", "the"])
    assert run.response["text"] == "THE"
    assert "continued elsewhere" not in caplog.text
