"""What every store promises about schedules."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from sophon.stores.contract import Store
from sophon.stores.usage.contract import Period
from sophon_hosting.features.schedules.schedule import Schedule
from sophon_hosting.features.schedules.stored_schedules import stored_schedules
from tests.host_stores import clock as clock
from tests.host_stores import store as store
from tests.host_stores import store_url as store_url

T0 = datetime(2026, 11, 23, 12, tzinfo=UTC)
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)


def schedule(number: int = 1, **changes: object) -> Schedule:
    whole = Schedule(
        id=f"sch_{number}",
        owner="ada",
        session_id="s1",
        channel="telegram",
        text="tell me the news \ud83d\x00",
        kind="cron",
        expression="0 8 * * *",
        time_zone="Europe/Vienna",
        created_at=T0,
        created_by="ada",
        origin={"chat": "5", "kind": "direct"},
        due_at=T0 + DAY,
        wake_at=T0 + DAY,
    )
    return replace(whole, **changes)  # type: ignore[arg-type]


async def test_a_schedule_is_read_back_as_it_was_stored(store: Store):
    assert await stored_schedules(store).add(schedule())
    assert await stored_schedules(store).find("sch_1") == schedule()
    assert await stored_schedules(store).find("sch_2") is None


async def test_a_known_schedule_is_not_stored_again(store: Store):
    await stored_schedules(store).add(schedule())
    assert await stored_schedules(store).add(schedule(text="another"), limit=1)
    assert await stored_schedules(store).list() == [schedule()]


async def test_the_limit_counts_what_is_not_finished_of_the_owner_alone(store: Store):
    await stored_schedules(store).add(schedule(1, state="finished"))
    await stored_schedules(store).add(schedule(2, owner="bob"))
    assert await stored_schedules(store).add(schedule(3), limit=1)
    assert not await stored_schedules(store).add(schedule(4, state="paused"), limit=1)
    assert [each.id for each in await stored_schedules(store).list(owner="ada")] == ["sch_1", "sch_3"]


async def test_schedules_are_listed_by_owner_and_session_oldest_first(store: Store):
    for each in (schedule(2), schedule(1), schedule(3, owner="bob"), schedule(4, session_id="s2")):
        await stored_schedules(store).add(each)
    assert [each.id for each in await stored_schedules(store).list()] == ["sch_2", "sch_1", "sch_3", "sch_4"]
    assert [each.id for each in await stored_schedules(store).list(owner="ada", session_id="s1")] == ["sch_2", "sch_1"]


async def test_of_two_changes_of_the_same_version_one_is_stored(store: Store):
    await stored_schedules(store).add(schedule())
    assert await stored_schedules(store).update(schedule(state="paused", due_at=None, wake_at=None, reason="by ada"))
    assert not await stored_schedules(store).update(schedule(text="late"))
    stored = await stored_schedules(store).find("sch_1")
    assert stored == schedule(state="paused", due_at=None, wake_at=None, reason="by ada", version=1)
    assert not await stored_schedules(store).update(schedule(9))


async def test_due_schedules_are_those_whose_time_to_wake_has_come_the_earliest_first(store: Store):
    await stored_schedules(store).add(schedule(1, wake_at=T0))
    await stored_schedules(store).add(schedule(2, wake_at=T0 - MINUTE, due_at=T0 - DAY))
    await stored_schedules(store).add(schedule(3, wake_at=T0 + MINUTE))
    await stored_schedules(store).add(schedule(4, state="paused", due_at=None, wake_at=None))
    assert [each.id for each in await stored_schedules(store).list_due(T0)] == ["sch_2", "sch_1"]
    assert [each.id for each in await stored_schedules(store).list_due(T0, limit=1)] == ["sch_2"]
    assert await stored_schedules(store).find_next_wake() == T0 - MINUTE
    for each in ("sch_1", "sch_2", "sch_3"):
        assert await stored_schedules(store).remove(each)
    assert not await stored_schedules(store).remove("sch_1")
    assert await stored_schedules(store).find_next_wake() is None


async def test_finished_schedules_expire_by_their_last_time(store: Store):
    await stored_schedules(store).add(schedule(1, state="finished", last_due_at=T0))
    await stored_schedules(store).add(schedule(2, state="finished", last_due_at=T0 + DAY))
    await stored_schedules(store).add(schedule(3, last_due_at=T0))
    assert await stored_schedules(store).expire(T0 + MINUTE) == 1
    assert [each.id for each in await stored_schedules(store).list()] == ["sch_2", "sch_3"]


async def test_schedules_go_with_their_session(store: Store):
    await store.sessions.get_or_create("s1", "ada")
    await stored_schedules(store).add(schedule())
    await stored_schedules(store).add(schedule(2, session_id="s2"))
    await store.sessions.delete("s1")
    assert [each.id for each in await stored_schedules(store).list()] == ["sch_2"]


async def test_schedules_go_with_the_person_who_owns_them(store: Store):
    await stored_schedules(store).add(schedule())
    await stored_schedules(store).add(schedule(2, owner="bob"))
    assert (await store.persons.forget("ada", Period("2026-11-23", "2026-11")))["schedules"] == 1
    assert [each.id for each in await stored_schedules(store).list()] == ["sch_2"]


async def test_changes_are_announced_to_who_watches(store: Store):
    changes: list[str] = []
    stored_schedules(store).watch(lambda: changes.append("changed"))
    await stored_schedules(store).add(schedule())
    await stored_schedules(store).update(schedule(title="news"))
    await stored_schedules(store).remove("sch_1")
    assert changes == ["changed"] * 3
