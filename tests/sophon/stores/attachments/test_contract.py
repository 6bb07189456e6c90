"""What every store promises about attachments."""

from dataclasses import replace
from datetime import timedelta

import pytest

from sophon.attachments import Attachment
from sophon.errors import NotFound
from sophon.messages import Message
from sophon.stores.attachments.stored_attachment import TooManyBytes
from sophon.stores.contract import Store
from sophon.stores.sessions.contract import SessionRecord
from sophon.stores.usage.contract import Period
from sophon.testing import VirtualClock
from sophon_hosting.store.runs.contract import Run

CONTENT = bytes(range(256)) * 300
PHOTO = Attachment("a1", "photo é\u202e.png", "image/png", len(CONTENT), 85)
NOTE = Attachment("a2", "note.txt", "text/plain", 5, 3)


def make_run(number: int, session_id: str, *attachments: Attachment, owner: str = "ada") -> Run:
    options = {"attachments": [each.to_json() for each in attachments]}
    return Run(id=f"r{number}", session_id=session_id, owner=owner, channel="hub", text="look", options=options)


async def test_a_file_is_read_back_as_it_was_stored(store: Store, clock: VirtualClock) -> None:
    stored = await store.attachments.add(PHOTO, CONTENT, owner="ada")
    assert (stored.attachment, stored.owner, stored.created_at, stored.sessions) == (PHOTO, "ada", clock.now(), ())
    assert await store.attachments.find("a1") == stored
    assert await store.attachments.read("a1") == CONTENT
    assert await store.attachments.find("a2") is None
    assert await store.attachments.read("a2") is None


async def test_a_file_that_is_stored_again_stays_as_it_was(store: Store) -> None:
    await store.attachments.add(PHOTO, CONTENT, owner="ada")
    again = await store.attachments.add(replace(PHOTO, name="other"), b"other", owner="ada")
    assert again.attachment == PHOTO
    assert await store.attachments.read("a1") == CONTENT


async def test_an_id_of_somebody_else_is_not_taken(store: Store) -> None:
    await store.attachments.add(PHOTO, CONTENT, owner="ada")
    with pytest.raises(NotFound):
        await store.attachments.add(PHOTO, b"mine", owner="bob")
    assert [each.owner for each in await store.attachments.list("ada")] == ["ada"]
    assert await store.attachments.list("bob") == []


async def test_the_files_of_a_person_have_a_limit_together(store: Store) -> None:
    await store.attachments.add(PHOTO, CONTENT, owner="ada", max_total_bytes=len(CONTENT))
    with pytest.raises(TooManyBytes) as caught:
        await store.attachments.add(NOTE, b"hello", owner="ada", max_total_bytes=len(CONTENT) + 4)
    assert (caught.value.stored, caught.value.size) == (len(CONTENT), 5)
    assert await store.attachments.find("a2") is None
    await store.attachments.add(NOTE, b"hello", owner="bob", max_total_bytes=5)
    assert [each.attachment for each in await store.attachments.list("ada")] == [PHOTO]


async def test_a_message_uses_its_files_from_its_acceptance_on(store: Store) -> None:
    await store.attachments.add(PHOTO, CONTENT, owner="ada")
    assert await store.attachments.read("a1", session_id="s") is None
    await store.runs.accept(make_run(1, "s", PHOTO), session_owner="ada")
    assert await store.attachments.read("a1", session_id="s") == CONTENT
    assert await store.attachments.read("a1", session_id="other") is None
    found = await store.attachments.find("a1")
    assert found is not None
    assert found.sessions == ("s",)


@pytest.mark.parametrize("wanted", [PHOTO, NOTE])
async def test_a_message_with_a_file_that_is_not_its_owners_is_not_accepted(store: Store, wanted: Attachment) -> None:
    await store.attachments.add(PHOTO, CONTENT, owner="bob")
    with pytest.raises(NotFound):
        await store.runs.accept(make_run(1, "s", wanted), session_owner="ada")
    assert await store.runs.find("r1") is None
    assert await store.sessions.find("s") is None
    assert await store.attachments.read("a1", session_id="s") is None


async def test_a_task_that_is_repeated_has_the_files_of_its_session(store: Store) -> None:
    await store.sessions.get_or_create("s", "group")
    await store.attachments.add(PHOTO, CONTENT, owner="group", session_id="s")
    accepted = await store.runs.accept(make_run(1, "s", PHOTO, owner="ada"))
    assert accepted.created


async def test_a_file_goes_with_the_last_session_that_uses_it(store: Store) -> None:
    await store.attachments.add(PHOTO, CONTENT, owner="ada")
    await store.runs.accept(make_run(1, "s", PHOTO), session_owner="ada")
    await store.sessions.append("s", [SessionRecord("message", "r1", Message("user", "look", attachments=(PHOTO,)))])
    await store.sessions.fork("s", "copy")
    await store.sessions.delete("s")
    assert await store.attachments.read("a1", session_id="copy") == CONTENT
    assert (await store.sessions.list_records("copy"))[0].message == Message("user", "look", attachments=(PHOTO,))
    await store.sessions.delete("copy")
    assert await store.attachments.find("a1") is None
    assert not await store.attachments.list("ada")


async def test_only_files_that_no_message_has_expire(store: Store, clock: VirtualClock) -> None:
    await store.attachments.add(PHOTO, CONTENT, owner="ada")
    await store.attachments.add(NOTE, b"hello", owner="ada")
    await store.runs.accept(make_run(1, "s", PHOTO), session_owner="ada")
    assert await store.attachments.expire(clock.now()) == 0
    assert await store.attachments.expire(clock.now() + timedelta(seconds=1)) == 1
    assert [each.attachment.id for each in await store.attachments.list("ada")] == ["a1"]


async def test_a_file_is_deleted_by_its_owner_as_long_as_no_message_has_it(store: Store) -> None:
    await store.attachments.add(PHOTO, CONTENT, owner="ada")
    await store.attachments.add(NOTE, b"hello", owner="ada")
    await store.runs.accept(make_run(1, "s", PHOTO), session_owner="ada")
    assert not await store.attachments.remove_unsent("a1", owner="ada")
    assert not await store.attachments.remove_unsent("a2", owner="bob")
    assert await store.attachments.remove_unsent("a2", owner="ada")
    assert not await store.attachments.remove_unsent("a2", owner="ada")
    assert [each.attachment.id for each in await store.attachments.list("ada")] == ["a1"]


async def test_forgetting_a_person_deletes_their_files(store: Store) -> None:
    await store.attachments.add(PHOTO, CONTENT, owner="ada")
    await store.attachments.add(NOTE, b"hello", owner="bob")
    counts = await store.persons.forget("ada", Period("2026-11-23", "2026-11"))
    assert counts["attachments"] == 1
    assert await store.attachments.find("a1") is None
    assert await store.attachments.find("a2") is not None


async def test_a_file_for_a_session_that_does_not_exist_is_not_stored(store: Store) -> None:
    with pytest.raises(NotFound):
        await store.attachments.add(PHOTO, CONTENT, owner="ada", session_id="nothing")
    assert await store.attachments.find("a1") is None
