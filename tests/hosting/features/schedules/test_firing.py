"""Schedules are fired at their times, once, and each time has one visible outcome."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from sophon.events import Message
from sophon.testing import VirtualClock
from sophon_hosting.features.schedules import scheduler as scheduling
from sophon_hosting.features.schedules.events import ScheduleChanged, ScheduleFired
from sophon_hosting.features.schedules.scheduler import Scheduler
from sophon_hosting.features.schedules.stored_schedules import stored_schedules
from sophon_hosting.queue.errors import QueueFull
from sophon_hosting.store.runs.contract import AcceptResult
from sophon_hosting.store.sql_host_store import SqlHostStore
from tests.hosting.features.schedules.conftest import DAY, HOUR, MINUTE, T0, ScheduleWorld, allow


async def test_a_due_schedule_runs_in_its_session_and_is_moved_on(world: ScheduleWorld):
    host = await world.started()
    schedule = await world.add(host, every="2 hours")
    world.pass_time(2 * HOUR)
    await world.fire(host)
    [run] = await world.runs()
    assert (run.session_id, run.owner, run.channel, run.status) == ("s", "ada", "hub", "completed")
    assert world.asked == ["[SCHEDULED TASK: tell me the news]\ntell me the news"]
    moved = await world.get(schedule)
    assert (moved.due_at, moved.last_due_at) == (T0 + 4 * HOUR, T0 + 2 * HOUR)
    assert (moved.last_outcome, moved.last_task_id) == ("fired", run.id)
    await world.outcomes(1)
    [fired] = world.events.of(ScheduleFired)
    assert (fired.outcome, fired.task_id, fired.session_id) == ("fired", run.id, "s")


async def test_people_see_the_text_without_its_prefix_and_that_a_schedule_sent_it(world: ScheduleWorld):
    host = await world.started()
    schedule = await world.add(host, in_minutes=5)
    world.pass_time(5 * MINUTE)
    await world.fire(host)
    shown = [event for event in world.events.of(Message) if event.role == "user"]
    assert [(event.content, event.origin) for event in shown] == [("tell me the news", "schedule")]
    assert "origin" not in Message(message_id="1", role="user", content="x").to_wire()
    [record] = [each for each in await world.store.sessions.list_records("s") if each.kind == "message"][:1]
    assert record.data == {"schedule": schedule.id}


async def test_a_schedule_of_one_moment_is_finished_after_it(world: ScheduleWorld):
    host = await world.started()
    schedule = await world.add(host, at="13:00")
    world.pass_time(HOUR)
    await world.fire(host)
    found = await world.get(schedule)
    assert (found.state, found.due_at, found.wake_at) == ("finished", None, None)

    async def announced() -> bool:
        return bool(world.events.of(ScheduleChanged))

    await world.until(announced)
    assert [event.change for event in world.events.of(ScheduleChanged)] == ["finished"]


@pytest.mark.parametrize("what", ["schedule", "session", "pause"])
async def test_nothing_is_accepted_for_a_schedule_that_was_deleted_or_paused_meanwhile(
    world: ScheduleWorld, monkeypatch: pytest.MonkeyPatch, what: str
):
    host = await world.started()
    schedule = await world.add(host, in_minutes=5)
    accept = world.store.runs.accept

    async def accept_behind(*run: Any, **more: Any) -> AcceptResult:
        """Accept what the host has decided to run after another process has changed the schedule."""
        match what:
            case "schedule":
                await stored_schedules(world.store).remove(schedule.id)
            case "session":
                await world.store.sessions.delete("s")
            case _:
                await world.change(schedule, state="paused", due_at=None, wake_at=None)
        return await accept(*run, **more)

    monkeypatch.setattr(world.store.runs, "accept", accept_behind)
    world.pass_time(5 * MINUTE)
    await world.fire(host)
    assert (await world.runs(), world.asked) == ([], [])
    assert bool(await world.store.sessions.find("s")) == (what != "session")
    found = await stored_schedules(world.store).find(schedule.id)
    assert found is None if what != "pause" else found is not None and found.state == "paused"


async def test_a_schedule_that_is_changed_while_it_fires_runs_as_it_is_now(
    world: ScheduleWorld, monkeypatch: pytest.MonkeyPatch
):
    host = await world.started()
    schedule = await world.add(host, in_minutes=5)
    accept, changes = world.store.runs.accept, ["tell me a joke"]

    async def accept_behind(*run: Any, **more: Any) -> AcceptResult:
        if changes:
            await world.change(await world.get(schedule), text=changes.pop())
        return await accept(*run, **more)

    monkeypatch.setattr(world.store.runs, "accept", accept_behind)
    world.pass_time(5 * MINUTE)
    await world.fire(host)
    assert [asked.splitlines()[-1] for asked in world.asked] == ["tell me a joke"]


async def test_several_hosts_over_one_store_fire_once(world: ScheduleWorld):
    hosts = [await world.started() for _ in range(3)]
    schedule = await world.add(hosts[0], every="1 hour")
    world.pass_time(HOUR)
    await world.fire(*hosts)
    assert len(await world.runs()) == 1
    assert await world.outcomes(1) == ["fired"]
    assert (await world.get(schedule)).due_at == T0 + 2 * HOUR


async def test_without_the_key_several_hosts_would_fire_several_times(world: ScheduleWorld, monkeypatch):
    """The negative of the test above: the key is what makes a firing unique."""
    from sophon_hosting.features.schedules import firing

    hosts = [await world.started() for _ in range(3)]
    await world.add(hosts[0], every="1 hour")
    world.pass_time(HOUR)
    monkeypatch.setattr(firing, "InboundKey", lambda *parts: None)
    # Their runs do not end: those of one session wait for each other, and each host has a queue of its own.
    await asyncio.gather(*(Scheduler(host, allow).fire_due() for host in hosts))
    assert len(await world.runs()) > 1


async def test_a_host_that_was_killed_before_it_moved_the_schedule_on_fires_no_second_run(world: ScheduleWorld):
    host = await world.started()
    schedule = await world.add(host, every="1 hour")
    world.pass_time(HOUR)
    scheduler = Scheduler(host, allow)
    await scheduler._firing._accept(schedule, T0 + HOUR)  # and then the process is gone
    await world.fire(await world.started())
    assert len(await world.runs()) == 1
    assert (await world.get(schedule)).last_outcome == "fired"


@pytest.mark.parametrize(("misfire", "runs", "missed"), [("skip", 0, 24), ("once", 1, 23), ("all", 10, 14)])
async def test_after_a_day_down_the_policy_says_what_is_run(world: ScheduleWorld, misfire: str, runs: int, missed: int):
    host = await world.started()
    schedule = await world.add(host, every="1 hour", misfire=misfire)
    world.pass_time(DAY + HOUR / 2)
    await world.fire(host)
    assert len(await world.runs()) == runs
    await world.outcomes(runs + 1)
    [lost] = [event for event in world.events.of(ScheduleFired) if event.outcome == "missed"]
    assert lost.count == missed
    assert (await world.get(schedule)).due_at == T0 + DAY + HOUR


async def test_in_quiet_hours_a_run_is_postponed_until_they_end(world: ScheduleWorld):
    host = await world.started()
    schedule = await world.add(host, cron="0 23 * * *", quiet_hours="22:00-07:00")
    world.pass_time(11 * HOUR)
    await world.fire(host)
    waiting = await world.get(schedule)
    assert (waiting.due_at, waiting.wake_at) == (T0 + 11 * HOUR, T0 + 19 * HOUR)
    assert (await world.runs(), await world.outcomes(1)) == ([], ["postponed"])
    world.pass_time(8 * HOUR)
    await world.fire(host)
    assert (len(await world.runs()), await world.outcomes(2)) == (1, ["postponed", "fired"])
    assert (await world.get(schedule)).due_at == T0 + 11 * HOUR + DAY


async def test_quiet_hours_of_the_settings_may_leave_a_run_out_but_never_a_single_moment(world: ScheduleWorld):
    host = await world.started({"Schedules": {"QuietHours": ["22:00", "07:00"], "QuietAction": "Skip"}})
    await world.add(host, cron="0 23 * * *")
    once = await world.add(host, at="23:00")
    world.pass_time(11 * HOUR)
    await world.fire(host)
    assert sorted(await world.outcomes(2)) == ["fired", "skipped"]
    assert (await world.get(once)).last_outcome == "fired"


async def test_a_run_for_which_there_is_no_room_is_delayed_and_never_lost(world: ScheduleWorld):
    host = await world.started({"Queue": {"Capacity": 1}, "AgentExecution": {"MaxConcurrentTasks": 1}})
    schedule = await world.add(host, at="13:00")
    scheduler = Scheduler(host, allow)
    accept, host.accept = host.accept, _refuse  # type: ignore[method-assign]
    world.pass_time(HOUR)
    await scheduler.fire_due()
    delayed = await world.get(schedule)
    assert (delayed.state, delayed.due_at, delayed.last_outcome) == ("active", T0 + HOUR, "delayed")
    assert delayed.wake_at is not None
    assert delayed.wake_at > world.clock.now()
    host.accept = accept  # type: ignore[method-assign]
    world.pass_time(MINUTE)
    await world.fire(host)
    assert await world.outcomes(2) == ["delayed", "fired"]
    assert len(await world.runs()) == 1


async def _refuse(message: object) -> None:
    raise QueueFull(1, 5.0)


async def test_a_schedule_whose_owner_may_not_run_it_is_paused_with_the_reason(world: ScheduleWorld):
    async def refuse(schedule: object) -> str:
        return "ada is no user of this host any more"

    host = await world.started()
    schedule = await world.add(host, every="1 hour")
    world.pass_time(HOUR)
    await world.fire(host, check_owner=refuse)
    found = await world.get(schedule)
    assert (found.state, found.reason) == ("paused", "ada is no user of this host any more")
    assert (await world.runs(), await world.outcomes(1)) == ([], ["refused"])


async def test_a_session_that_is_somebody_elses_by_now_gets_no_message(world: ScheduleWorld):
    host = await world.started()
    schedule = await world.add(host, every="1 hour")
    await world.change(schedule, owner="eve")
    world.pass_time(HOUR)
    await world.fire(host)
    assert (await world.get(schedule)).reason == "its conversation belongs to somebody else"
    assert await world.runs() == []


async def test_schedules_of_a_deleted_session_are_gone(world: ScheduleWorld):
    host = await world.started()
    await world.add(host, every="1 hour")
    await host.delete_session("s")
    world.pass_time(HOUR)
    await world.fire(host)
    assert await world.runs() == []


async def test_a_change_in_this_process_wakes_the_scheduler(world: ScheduleWorld, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(scheduling, "POLL_SECONDS", 3600.0)
    host = await world.started({})
    scheduler = Scheduler(host, allow)
    scheduler.start()
    schedule = await world.add(host, in_minutes=2)
    world.pass_time(3 * MINUTE)
    await world.change(schedule, title="news")
    assert await world.outcomes(1) == ["fired"]
    await scheduler.stop()


async def test_a_month_of_schedules_passes_in_a_second(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(scheduling, "POLL_SECONDS", 86_400.0)
    clock = VirtualClock(start=T0)
    world = ScheduleWorld(SqlHostStore("memory://", clock=clock), clock)
    settings = {
        "Guards": {"RateLimit": {"Enabled": False}},
        "Queue": {"Capacity": 1000},
    }
    host = world.host(settings)
    for number in range(5):
        await world.add(host, f"s{number}", cron=f"{number} 8 * * *", time_zone="Europe/Vienna")
    scheduler = Scheduler(host, allow)
    scheduler.start()
    await clock.sleep(timedelta(days=30).total_seconds())
    await scheduler.stop()
    assert len(await world.runs()) == 150
