"""What every store promises channels that remember something."""

from datetime import timedelta

from sophon.stores.contract import Store
from sophon.testing import VirtualClock
from sophon_hosting.store.channel_state.channel_state_entry import ChannelStateEntry


def note(
    key: str = "ada", kind: str = "person", channel: str = "telegram", account: str = "7", **value: object
) -> ChannelStateEntry:
    return ChannelStateEntry(channel, account, kind, key, value)


async def test_a_note_is_found_as_it_was_written(store: Store, clock: VirtualClock) -> None:
    await store.channel_state.put(note(name="Ada 👩‍🚀", ids=[1, 2]))
    found = await store.channel_state.get("telegram", "7", "person", "ada")
    assert found is not None
    assert (found.value, found.at) == ({"name": "Ada 👩‍🚀", "ids": [1, 2]}, clock.now())


async def test_what_was_never_written_is_not_there(store: Store) -> None:
    await store.channel_state.put(note())
    for key in (("whatsapp", "7"), ("telegram", "8")):
        assert await store.channel_state.get(*key, "person", "ada") is None
    assert await store.channel_state.get("telegram", "7", "session", "ada") is None


async def test_put_replaces_and_add_does_not(store: Store) -> None:
    assert await store.channel_state.add(note(n=1))
    assert not await store.channel_state.add(note(n=2))
    found = await store.channel_state.get("telegram", "7", "person", "ada")
    assert found is not None
    assert found.value == {"n": 1}
    await store.channel_state.put(note(n=3))
    found = await store.channel_state.get("telegram", "7", "person", "ada")
    assert found is not None
    assert found.value == {"n": 3}


async def test_a_list_has_one_kind_in_the_order_of_writing(store: Store) -> None:
    for each in (note("b"), note("a"), note("c", "session"), note("d", account="8"), note("e", channel="whatsapp")):
        await store.channel_state.put(each)
    assert [each.key for each in await store.channel_state.list("person")] == ["b", "a", "d", "e"]
    assert [each.key for each in await store.channel_state.list("person", "telegram")] == ["b", "a", "d"]
    assert [each.key for each in await store.channel_state.list("person", "telegram", "7")] == ["b", "a"]


async def test_what_is_removed_is_gone_once(store: Store) -> None:
    await store.channel_state.put(note())
    assert await store.channel_state.remove("telegram", "7", "person", "ada")
    assert not await store.channel_state.remove("telegram", "7", "person", "ada")
    assert await store.channel_state.get("telegram", "7", "person", "ada") is None


async def test_only_what_is_old_expires_and_only_of_its_kind(store: Store, clock: VirtualClock) -> None:
    await store.channel_state.put(note("old", "seen"))
    await store.channel_state.put(note("old"))
    clock.advance(60)
    await store.channel_state.put(note("new", "seen"))
    assert await store.channel_state.expire("seen", clock.now() - timedelta(seconds=30)) == 1
    assert [each.key for each in await store.channel_state.list("seen")] == ["new"]
    assert [each.key for each in await store.channel_state.list("person")] == ["old"]


async def test_several_notes_are_written_at_once_and_replace_those_that_exist(store: Store) -> None:
    await store.channel_state.put(note("b", n=1))
    await store.channel_state.put_many([note(key, n=2) for key in ("a", "b", "c")])
    await store.channel_state.put_many([])
    found = await store.channel_state.list("person", "telegram", "7")
    assert [(each.key, each.value) for each in found] == [("b", {"n": 2}), ("a", {"n": 2}), ("c", {"n": 2})]


async def test_which_of_many_keys_exist_is_one_question(store: Store) -> None:
    await store.channel_state.put_many([note(f"k{number}") for number in range(0, 1200, 2)])
    await store.channel_state.put(note("k1", kind="session"))
    keys = [f"k{number}" for number in range(1200)]
    found = await store.channel_state.find_keys("telegram", "7", "person", keys)
    assert found == frozenset(keys[::2])
    assert await store.channel_state.find_keys("telegram", "7", "person", []) == frozenset()
