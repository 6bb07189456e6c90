"""What every store promises about the audit log."""

import asyncio
import json
from datetime import UTC, datetime, timedelta, timezone

import pytest

from sophon.risk import Risk
from sophon.security import verify_audit
from sophon.security.authorization.capability_levels import LEVELS, find_capability_level
from sophon.stores.audit.audit_event import AuditEvent, AuditFilter
from sophon.stores.contract import Store

T0 = datetime(2026, 11, 23, 12, 0, 0, 123456, UTC)


def event(number: int, **more: object) -> AuditEvent:
    values: dict[str, object] = {
        "session_id": "s",
        "call_id": f"c{number}",
        "texts": {"input": f"text {number} \ud83d"},
    }
    return AuditEvent(at=T0 + timedelta(hours=number), event="executed", **{**values, **more})  # type: ignore[arg-type]


async def append(store: Store, count: int) -> None:
    await store.audit.append([event(number) for number in range(1, count + 1)])


async def export(store: Store) -> list[str]:
    return [entry.to_line() for entry in await store.audit.list_after(0)]


async def test_entries_are_chained_over_several_appends(store: Store):
    await append(store, 2)
    await store.audit.append([event(3, texts={})])
    lines = await export(store)
    assert [json.loads(line)["number"] for line in lines] == [1, 2, 3]
    assert verify_audit(lines) is None
    assert (await store.audit.verify()).broken is None
    assert (await store.audit.verify()).count == 3


async def test_an_empty_log_is_intact(store: Store):
    assert (await store.audit.verify()).broken is None
    assert await store.audit.list_entries() == []


async def test_all_fields_are_read_back_as_they_were_appended(store: Store):
    whole = AuditEvent(
        at=T0.astimezone(timezone(timedelta(hours=5))),
        event="blocked",
        session_id="s\x00",
        run_id="r/1",
        call_id="c",
        chat="-100",
        principal="ann \ud83d",
        tool="files.write",
        capability="write_file",
        risk="high",
        guard="Protection",
        rule="protected_blocked",
        outcome="denied",
        duration_ms=7,
        texts={"output": "no \x1a"},
    )
    await store.audit.append([whole])
    [entry] = await store.audit.list_after(0)
    assert entry.fields == whole.build_fields()
    assert entry.fields["at"] == "2026-11-23T12:00:00.123456+00:00"
    assert entry.texts == whole.texts
    assert (await store.audit.verify()).broken is None


async def test_concurrent_appends_get_numbers_without_gaps(store: Store):
    await asyncio.gather(*(store.audit.append([event(number), event(number)]) for number in range(20)))
    found = await store.audit.verify()
    assert (found.count, found.broken) == (40, None)


async def test_entries_are_listed_by_page_the_newest_first(store: Store):
    await append(store, 5)
    first = await store.audit.list_entries(limit=2)
    rest = await store.audit.list_entries(before=first[-1].number)
    assert [each.number for each in first] == [5, 4]
    assert [each.number for each in rest] == [3, 2, 1]
    assert await store.audit.list_entries(limit=0) == []
    assert [each.number for each in await store.audit.list_after(3, limit=1)] == [4]


@pytest.mark.parametrize("name", ["session_id", "chat", "principal", "tool", "capability", "risk", "outcome"])
async def test_each_published_column_can_be_queried(store: Store, name: str):
    await store.audit.append([event(1, **{name: "wanted"}), event(2, **{name: "other"})])
    assert [each.number for each in await store.audit.list_entries(AuditFilter(**{name: "wanted"}))] == [1]


async def test_entries_are_found_by_the_level_of_their_tools(store: Store):
    actions = ("", "execute_command", "write_file", "send_email", "look")
    pairs = [(action, risk.label) for action in actions for risk in Risk]
    await store.audit.append([event(1, capability=action, risk=risk) for action, risk in pairs])
    await store.audit.append([event(1, capability="settings", risk="")])
    found = {each: await store.audit.list_entries(AuditFilter(capability_level=each), limit=100) for each in LEVELS}
    assert sum(map(len, found.values())) == len(pairs)
    for level, entries in found.items():
        levels = {find_capability_level(e.fields["capability"], Risk.parse(e.fields["risk"])) for e in entries}
        assert levels == {level}
    assert await store.audit.list_entries(AuditFilter(capability_level="other")) == []


async def test_entries_are_found_by_event_and_time(store: Store):
    await append(store, 4)
    wanted = AuditFilter(event="executed", since=T0 + timedelta(hours=2), until=T0 + timedelta(hours=4))
    assert [each.number for each in await store.audit.list_entries(wanted)] == [3, 2]
    assert await store.audit.list_entries(AuditFilter(event="failed")) == []


async def test_blanked_texts_are_gone_and_the_chain_stays_valid(store: Store):
    await store.audit.append([event(1, principal="ann"), event(2, principal="bob"), event(3, principal="ann")])
    assert await store.audit.blank_texts("ann") == 2
    assert await store.audit.blank_texts("ann") == 0
    entries = await store.audit.list_after(0)
    assert [each.texts["input"] for each in entries] == [None, "text 2 \ud83d", None]
    assert [each.salts["input"] is None for each in entries] == [True, False, True]
    assert verify_audit([each.to_line() for each in entries]) is None
    assert (await store.audit.verify()).broken is None


async def test_the_texts_of_a_deleted_session_are_blanked(store: Store):
    await store.sessions.get_or_create("s", "ann")
    await store.audit.append([event(1), event(2, session_id="other")])
    await store.sessions.delete("s")
    assert [each.texts["input"] for each in await store.audit.list_after(0)] == [None, "text 2 \ud83d"]
    assert (await store.audit.verify()).broken is None


async def test_old_entries_are_cut_and_the_chain_is_verified_from_there(store: Store):
    await append(store, 4)
    assert await store.audit.expire(T0 + timedelta(hours=3)) == 2
    assert await store.audit.expire(T0 + timedelta(hours=3)) == 0
    await store.audit.append([event(5)])
    assert [each.number for each in await store.audit.list_after(0)] == [3, 4, 5]
    assert (await store.audit.verify()).broken is None
    assert verify_audit(await export(store)) is None


async def test_a_log_that_is_cut_whole_goes_on_with_the_next_number(store: Store):
    await append(store, 2)
    assert await store.audit.expire(T0 + timedelta(days=9)) == 2
    assert (await store.audit.verify()).broken is None
    await store.audit.append([event(3)])
    assert [each.number for each in await store.audit.list_after(0)] == [3]
    assert (await store.audit.verify()).broken is None


async def test_an_entry_that_is_out_of_order_is_kept_until_those_before_it_are_old(store: Store):
    await store.audit.append([event(9), event(1)])
    assert await store.audit.expire(T0 + timedelta(hours=5)) == 0


async def test_a_time_without_a_zone_is_refused_and_nothing_is_appended(store: Store):
    with pytest.raises(ValueError, match="time zone"):
        await store.audit.append([event(1), AuditEvent(datetime(2026, 1, 1), "proposed", "s")])
    assert (await store.audit.verify()).count == 0
