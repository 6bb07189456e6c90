"""What every store promises about preferences."""

from sophon.preferences import NO_PREFERENCES, Preferences
from sophon.stores.contract import Store
from sophon.stores.usage.contract import Period

SAID = Preferences(language="de", style="plain words", time_zone="Europe/Berlin", notes="café \U0001f600\nline")


async def test_preferences_are_read_back_as_they_were_said(store: Store) -> None:
    assert await store.preferences.get("ada") == NO_PREFERENCES
    await store.preferences.put("ada", SAID)
    assert await store.preferences.get("ada") == SAID
    assert await store.preferences.get("bob") == NO_PREFERENCES


async def test_later_preferences_replace_those_of_before(store: Store) -> None:
    await store.preferences.put("ada", SAID)
    await store.preferences.put("ada", Preferences(verbosity="brief"))
    assert await store.preferences.get("ada") == Preferences(verbosity="brief")


async def test_empty_preferences_delete_the_record_and_forgetting_does_too(host_store: Store) -> None:
    await host_store.preferences.put("ada", SAID)
    await host_store.preferences.put("ada", NO_PREFERENCES)
    assert await host_store.preferences.get("ada") == NO_PREFERENCES
    for person in ("ada", "bob"):
        await host_store.preferences.put(person, SAID)
    counts = await host_store.persons.forget("ada", Period("2026-11-23", "2026-11"))
    assert counts["preferences"] == 1
    assert await host_store.preferences.get("ada") == NO_PREFERENCES
    assert await host_store.preferences.get("bob") == SAID
