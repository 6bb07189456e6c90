"""What every store promises about standing grants."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from sophon.errors import NotFound
from sophon.messages import Message
from sophon.stores.contract import Store
from sophon.stores.grants.contract import StandingGrant
from sophon.stores.sessions.contract import SessionRecord
from sophon_hosting.store.factory import host_store_from_url
from tests.databases import SQLITE, copy_database

T0 = datetime(2026, 11, 23, 12, tzinfo=UTC)
DAY = timedelta(days=1)


def grant(number: int = 1, **changes: object) -> StandingGrant:
    whole = StandingGrant(
        id=f"grt_{number}",
        scope="always",
        principal="ada",
        session_id="",
        tool="files.write",
        risk="high",
        pattern={"path": {"folder": "notes \ud83d"}, "content": {}},
        description="path: notes/*\x00",
        granted_by="bob",
        granted_at=T0,
        expires_at=T0 + DAY,
    )
    return replace(whole, **changes)  # type: ignore[arg-type]


async def test_a_grant_is_read_back_as_it_was_given(store: Store):
    assert await store.grants.add(grant()) == grant()
    assert await store.grants.find("grt_1") == grant()
    assert await store.grants.find("grt_2") is None


async def test_a_grant_that_is_given_twice_is_one_and_stays_revoked(store: Store):
    await store.grants.add(grant())
    assert await store.grants.revoke("grt_1", T0)
    assert not await store.grants.revoke("grt_1", T0 + DAY)
    again = await store.grants.add(grant())
    assert again.revoked_at == T0
    assert await store.grants.list_active(T0) == []


async def test_only_active_grants_are_listed_oldest_first(store: Store):
    for each in (grant(2), grant(1, principal="bob"), grant(3, tool="http.send"), grant(4, expires_at=T0)):
        await store.grants.add(each)
    assert [each.id for each in await store.grants.list_active(T0)] == ["grt_2", "grt_1", "grt_3"]
    assert [each.id for each in await store.grants.list_active(T0, principal="ada")] == ["grt_2", "grt_3"]
    found = await store.grants.list_for_tool(T0, principal="ada", tool="files.write")
    assert [each.id for each in found] == ["grt_2"]
    assert await store.grants.list_active(T0 + DAY) == []


async def test_an_unknown_grant_cannot_be_revoked(store: Store):
    assert not await store.grants.revoke("grt_9", T0)


async def test_expired_grants_are_deleted(store: Store):
    await store.grants.add(grant(1))
    await store.grants.add(grant(2, expires_at=T0 + 2 * DAY))
    assert await store.grants.expire(T0 + 2 * DAY) == 1
    assert await store.grants.find("grt_1") is None


async def test_the_grants_of_a_session_are_deleted_with_it(store: Store):
    await store.sessions.append("s", [SessionRecord("message", "r", Message("user", "hi"))], owner="ada")
    await store.grants.add(grant(1, scope="session", session_id="s"))
    await store.grants.add(grant(2, scope="session", session_id="t"))
    await store.grants.add(grant(3))
    await store.sessions.delete("s")
    assert [each.id for each in await store.grants.list_active(T0)] == ["grt_2", "grt_3"]


async def test_a_session_that_does_not_exist_keeps_what_is_granted(store: Store):
    await store.grants.add(grant(1, scope="session", session_id="s"))
    with pytest.raises(NotFound):
        await store.sessions.delete("s")
    assert len(await store.grants.list_active(T0)) == 1


async def test_a_restart_keeps_grants(tmp_path: Path):
    copy_database(tmp_path)
    for _ in range(2):
        store = host_store_from_url(SQLITE, folder=tmp_path)
        await store.open()
        await store.grants.add(grant())
        assert [each.id for each in await store.grants.list_active(T0)] == ["grt_1"]
        await store.close()
