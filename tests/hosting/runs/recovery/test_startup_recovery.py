"""Recovery: a second host over the same store takes up what the first has left, each run in its own way."""

import asyncio

from sophon import Decision
from sophon.events import Message as MessageAdded
from sophon.events import StreamReset, TaskFailed
from sophon_hosting.features.queue.dead_letter_retry import retry_task
from sophon_hosting.host import Host
from sophon_middlewares.chains import twelve
from sophon_middlewares.chains.additions import find_guards
from tests.units_of_work import store_checkpoint


async def cut_off(world, text: str, **options):
    """A host that is stopped in the middle of a turn, and the receipt of that."""
    first: Host = world.host()
    await first.start()
    receipt = await world.send(first, text, **options)

    async def begun() -> bool:
        return bool(world.begun)

    await world.until(begun)
    await first.shutdown(grace_seconds=0)
    world.release.set()
    return receipt


async def test_what_was_queued_is_answered_in_order(world) -> None:
    first = world.host()
    receipts = [await world.send(first, f"m{number}") for number in range(3)]
    await world.host().start()
    for receipt in receipts:
        await world.ended(receipt)
    assert await world.said("s") == ["m0", "M0", "m1", "M1", "m2", "M2"]


async def test_a_turn_that_was_cut_off_begins_again_and_its_message_is_there_once(world) -> None:
    receipt = await cut_off(world, "wait a")
    assert (await world.run(receipt)).status == "running"
    await world.host().start()
    run = await world.ended(receipt)
    assert (run.status, run.starts) == ("completed", 2)
    assert await world.said("s") == ["wait a", "WAIT A"]


async def test_whoever_saw_a_part_is_told_that_the_reply_begins_again(world) -> None:
    receipt = await cut_off(world, "wait a", stream=True)
    await world.host().start()
    await world.ended(receipt)
    assert [event.epoch for event in world.events.of(StreamReset)] == [2]


async def test_a_tool_that_may_have_run_is_not_run_again(world) -> None:
    receipt = await cut_off(world, "Stall here")
    await world.host().start()
    run = await world.ended(receipt)
    assert run.response is not None
    assert world.begun == ["here"]
    assert "unknown" in run.response["text"]


async def test_the_audit_log_has_what_became_of_a_call_that_was_cut_off(world) -> None:
    def guarded(services):
        return twelve(services, find_guards(services.settings.guards))

    first: Host = world.host(chain=guarded)
    await first.start()
    receipt = await world.send(first, "Stall here")

    async def begun() -> bool:
        return bool(world.begun)

    await world.until(begun)
    await first.shutdown(grace_seconds=0)
    world.release.set()
    await world.host(chain=guarded).start()
    await world.ended(receipt)

    entries = [each.fields for each in await world.store.audit.list_after(0)]
    assert [each["event"] for each in entries].count("proposed") == 1
    assert ("failed", "interrupted") in [(each["event"], each["outcome"]) for each in entries]
    assert (await world.store.audit.verify()).broken is None


async def test_a_plan_goes_on_where_it_was_and_its_tools_do_not_run_again(world) -> None:
    receipt = await cut_off(world, "do two things", planning="Always")
    await world.host().start()
    assert (await world.ended(receipt)).status == "completed"
    assert (world.begun, world.planned) == (["here"], 1)


async def test_by_setting_what_was_cut_off_is_marked_as_failed(world) -> None:
    receipt = await cut_off(world, "wait a")
    await world.host({"AgentExecution": {"Recovery": "Fail"}}).start()
    run = await world.run(receipt)
    assert run.error is not None
    assert (run.status, run.error.code) == ("failed", "interrupted")
    assert [event.error["code"] for event in world.events.of(TaskFailed)] == ["interrupted"]
    assert [record.kind for record in await world.store.sessions.list_records("s")] == ["message", "failed"]


async def test_a_suspended_turn_holds_its_lane_and_is_resumed_by_the_decision(world) -> None:
    first = world.host()
    await first.start()
    asking = await world.send(first, "Pay Bob")
    approval = await world.suspended(first, asking)
    later = await world.send(first, "hello")
    await first.shutdown()
    second = world.host()
    await second.start()
    await world.ended(await world.send(second, "other", "t"))
    assert (await world.run(later)).status == "queued"
    await second.approvals.decide(approval, Decision.approve(), "ada")
    await world.ended(later)
    assert (world.paid, await world.said("s")) == (["Bob"], ["Pay Bob", "Done: paid Bob", "hello", "HELLO"])


async def test_a_decision_that_nobody_heard_of_is_carried_out(world) -> None:
    first = world.host()
    await first.start()
    receipt = await world.send(first, "Pay Bob")
    approval = await world.suspended(first, receipt)
    await first.shutdown()
    await world.store.approvals.decide(approval, Decision.approve(decided_by="ada"), world.clock.now())
    await world.host().start()
    assert ((await world.ended(receipt)).status, world.paid) == ("completed", ["Bob"])


async def test_a_question_that_is_gone_is_asked_again(world) -> None:
    first = world.host()
    await first.start()
    receipt = await world.send(first, "Pay Bob")
    await world.suspended(first, receipt)
    await first.shutdown()
    run = await world.run(receipt)
    await world.store.runs.begin(run.id, world.clock.now())
    await world.store.runs.suspend(run.id, run.checkpoint, ["apr_gone"])
    await world.host().start()
    assert (await world.suspended_again(receipt, starts=3)).waiting_for == run.waiting_for


async def test_what_expired_while_nobody_was_there_is_decided_by_time(world) -> None:
    first = world.host()
    await first.start()
    receipt = await world.send(first, "Pay Bob")
    await world.suspended(first, receipt)
    await first.shutdown()
    await world.clock.advance(3600)
    await world.host().start()
    run = await world.ended(receipt)
    assert run.response is not None
    assert "nobody decided" in run.response["text"]


async def test_a_state_that_cannot_be_read_is_a_failure_and_frees_the_session(world) -> None:
    first = world.host()
    receipt = await world.send(first, "hello")
    await world.store.runs.begin(receipt.task_id, world.clock.now())
    await store_checkpoint(world.store, receipt.task_id, {"version": 99})
    later = await world.send(first, "next")
    await world.host().start()
    run = await world.ended(receipt)
    assert run.error is not None
    assert (run.status, run.error.code) == ("failed", "state")
    assert (await world.ended(later)).status == "completed"


async def test_stopped_gracefully_what_runs_is_done(world) -> None:
    host = world.host()
    await host.start()
    receipt = await world.send(host, "wait a")

    async def begun() -> bool:
        return bool(world.begun)

    await world.until(begun)
    stopping = asyncio.create_task(host.shutdown())
    await asyncio.sleep(0)
    world.release.set()
    await stopping
    assert (await world.run(receipt)).status == "completed"


def told(world) -> list[str]:
    """The texts of the agent that clients received, in order."""
    return [event.content for event in world.events.of(MessageAdded) if event.role == "assistant"]


async def logged(world) -> list[str]:
    """The texts of the agent that a client receives that joins now."""
    rows = await world.store.events.list_after("s", 0)
    return [row.data["content"] for row in rows if row.name == "message" and row.data["role"] == "assistant"]


TEXTS = ["First I stall.", "Then I pay.", "That is all."]


async def test_every_text_between_calls_reaches_clients_also_after_an_approval(world) -> None:
    world.release.set()
    host = world.host()
    await host.start()
    receipt = await world.send(host, "Two rounds")
    await host.approvals.decide(await world.suspended(host, receipt), Decision.approve(), "ada")
    await world.ended(receipt)
    assert told(world) == await logged(world) == TEXTS


async def test_every_text_between_calls_reaches_clients_once_after_a_restart(world) -> None:
    receipt = await cut_off(world, "Two rounds")
    second = world.host()
    await second.start()
    approval = await world.suspended(second, receipt)
    await second.shutdown()
    third = world.host()
    await third.start()
    await third.approvals.decide(approval, Decision.approve(), "ada")
    await world.ended(receipt)
    assert told(world) == await logged(world) == TEXTS


async def start_and_die(world, receipt) -> Host:
    """A host that recovers the task, after a process that started it and died."""
    await world.store.runs.begin(receipt.task_id, world.clock.now())
    host: Host = world.host({"Queue": {"MaxDeliveries": 2}})
    await host.queue.pause()
    await host.start()
    return host


async def test_what_kills_its_process_again_and_again_is_given_up_and_its_session_goes_on(world) -> None:
    receipt = await world.send(world.host(), "hello")
    first = await start_and_die(world, receipt)
    assert (await first.queue.list_dead_letters(), (await world.run(receipt)).status) == ([], "running")
    host = await start_and_die(world, receipt)
    run = await world.run(receipt)
    assert run.error is not None
    assert (run.status, run.error.code) == ("failed", "gave_up")
    assert [(each.entry.task_id, each.delivery_count) for each in await host.queue.list_dead_letters()] == [(run.id, 2)]
    await host.queue.resume()
    assert (await world.ended(await world.send(host, "next"))).status == "completed"
    again = await retry_task(host, run.id)
    assert (again != run.id, await host.queue.list_dead_letters()) == (True, [])


async def test_what_was_not_started_since_has_lost_nothing(world) -> None:
    receipt = await world.send(world.host(), "hello")
    await start_and_die(world, receipt)
    for _ in range(3):
        host = world.host({"Queue": {"MaxDeliveries": 2}})
        await host.queue.pause()
        await host.start()
    assert (await world.run(receipt)).status == "running"


async def test_a_start_that_a_shutdown_interrupts_is_not_lost(world) -> None:
    receipt = await cut_off(world, "wait a")
    world.release.clear()
    for starts in (2, 3, 4):
        host = world.host({"Queue": {"MaxDeliveries": 1}})
        await host.start()

        async def begun(starts=starts) -> bool:
            return (await world.run(receipt)).starts == starts

        await world.until(begun)
        await host.shutdown(grace_seconds=0)
    assert (await world.run(receipt)).status == "running"
