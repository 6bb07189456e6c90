"""An answer goes to the person whom it is for, never to whoever has the number now."""

import asyncio
from typing import Any

import pytest

from sophon_channels.access_policy import AccessPolicy
from sophon_channels.contract import ChatLocation, IdentityChanged, SendUndeliverable
from sophon_channels.outbound_entry import OutboundEntry
from sophon_channels.testing import SyntheticChannel
from sophon_hosting.channels.direct_chat_recipients import RECIPIENT_CHANGED, RecipientAddresses, list_addresses
from sophon_hosting.channels.identity_links import IdentityLink
from sophon_hosting.store.sql_host_store import SqlHostStore
from tests.hosting.channels.inbound.test_identities import ADA, ADA_NUMBER, EVE, LISTED, NEW_NUMBER, deliver, written

OPEN = AccessPolicy(direct_policy="Open")
NUMBER, BY_USER_ID = ChatLocation(ADA_NUMBER), ChatLocation(ADA)
GONE = SendUndeliverable("131026", is_chat_gone=True)


async def lose_answer(running: Any) -> None:
    running.channel.send_results.append(GONE)
    await deliver(running, written("my secret", ADA, ADA_NUMBER))
    await running.channel.wait_until(lambda: running.channel.health.counts.get("undelivered", 0) > 0)


async def wait_for_dead(running: Any) -> OutboundEntry:
    async with asyncio.timeout(60):
        while not (dead := await running.store.outbox.list(status="dead")):
            await asyncio.sleep(0)
    return dead[0]


async def test_the_next_holder_of_a_number_is_neither_told_nor_sent_what_was_lost_before(start: Any) -> None:
    running = await start(policy=OPEN)
    await lose_answer(running)
    await deliver(running, written("hi, I am new", EVE, ADA_NUMBER), written("/last", EVE, ADA_NUMBER))
    await running.channel.wait_for_text("You said: hi, I am new", NUMBER)
    await running.channel.wait_for_text("answer", NUMBER)
    texts = running.channel.sent_texts(NUMBER)
    assert [text for text in texts if "secret" in text or "could not be delivered" in text] == []
    assert await running.store.outbox.count_dead() == 1


async def test_the_person_gets_what_was_lost_at_the_number_with_last_from_the_user_id(start: Any) -> None:
    running = await start(policy=OPEN)
    await lose_answer(running)
    await deliver(running, written("hi, I am new", EVE, ADA_NUMBER))
    await deliver(running, written("it is me", ADA))
    await running.channel.wait_for_text("could not be delivered", BY_USER_ID)
    await deliver(running, written("/last", ADA))
    await running.channel.wait_for_text("You said: my secret", BY_USER_ID)
    assert not any("secret" in text for text in running.channel.sent_texts(NUMBER))


async def test_an_answer_whose_turn_ends_after_the_takeover_goes_to_the_user_id(start: Any) -> None:
    running = await start(policy=OPEN)
    await deliver(running, written("wait", ADA, ADA_NUMBER))
    await running.brain.reached.wait()
    await deliver(running, written("hi, I am new", EVE, ADA_NUMBER))
    running.brain.gate.set()
    await running.channel.wait_for_text("You said: wait", BY_USER_ID)
    await running.channel.wait_for_text("You said: hi, I am new", NUMBER)
    assert not any("wait" in text for text in running.channel.sent_texts(NUMBER))


async def test_an_answer_after_a_reported_new_number_goes_there(start: Any) -> None:
    running = await start(policy=LISTED)
    await deliver(running, written("wait", ADA, ADA_NUMBER))
    await running.brain.reached.wait()
    await deliver(running, IdentityChanged("c1", ADA, ADA_NUMBER, "US.2", NEW_NUMBER))
    running.brain.gate.set()
    await running.channel.wait_for_text("You said: wait", ChatLocation(NEW_NUMBER))
    assert running.channel.sent_texts(NUMBER) == []


async def test_a_stranger_who_may_not_write_takes_the_address_all_the_same(start: Any) -> None:
    running = await start(policy=LISTED)
    await deliver(running, written("wait", ADA, ADA_NUMBER))
    await running.brain.reached.wait()
    await deliver(running, written("hi, I am new", EVE, ADA_NUMBER))
    running.brain.gate.set()
    await running.channel.wait_for_text("You said: wait", BY_USER_ID)
    assert running.channel.sent_texts(NUMBER) == []


async def test_a_decision_and_the_answer_after_it_are_not_shown_to_the_next_holder(start: Any) -> None:
    running = await start(policy=OPEN)
    await deliver(running, written("pay Bob", ADA, ADA_NUMBER))
    await running.channel.wait_for_text("May pay run?", NUMBER)
    code = str(running.channel.sent[-1].payload["buttons"][0]).split(":")[1]
    await deliver(running, written("hi, I am new", EVE, ADA_NUMBER))
    await running.channel.wait_for_text("You said: hi, I am new", NUMBER)
    before = running.channel.sent_texts(NUMBER)
    await deliver(running, written(f"/approve {code}", EVE, ADA_NUMBER), written(f"/approve {code}", ADA))
    await running.channel.wait_for_text("You said: paid Bob", BY_USER_ID)
    await running.channel.wait_for_text("May pay run?", BY_USER_ID)
    assert set(running.channel.sent_texts(NUMBER)) - set(before) <= {"this approval is not known here any more"}


async def test_what_waits_in_the_outbox_for_nobody_is_a_dead_letter_and_shown_in_the_session(start: Any) -> None:
    running = await start(policy=OPEN)
    await deliver(running, written("hello", EVE))
    await deliver(running, written("wait", number=ADA_NUMBER))  # known by the number only
    await running.brain.reached.wait()
    await deliver(running, IdentityChanged("c1", old_number=ADA_NUMBER, new_number=NEW_NUMBER))
    await deliver(running, written("mine", EVE, NEW_NUMBER))  # and that number is somebody else's too
    running.brain.gate.set()
    dead = await wait_for_dead(running)
    assert (dead.last_error, dead.dead_reason) == (RECIPIENT_CHANGED, "recipient_changed")
    async with asyncio.timeout(60):
        while True:
            events = await running.store.events.list_after(f"synthetic-{ADA_NUMBER}", 0, 1000)
            found = [event.data["reason"] for event in events if event.name == "answer_undelivered"]
            if found:
                break
            await asyncio.sleep(0)
    assert found == ["recipient_changed"]
    await running.channel.wait_for_text("You said: mine", ChatLocation(NEW_NUMBER))
    assert not any("wait" in str(entry.payload["text"]) for entry in running.channel.sent)


async def test_typing_and_preview_end_for_a_chat_that_is_somebody_elses(start: Any) -> None:
    running = await start(policy=OPEN)
    await deliver(running, written("before", ADA, ADA_NUMBER), written("hi, I am new", EVE, ADA_NUMBER))
    await running.channel.wait_for_text("You said: hi, I am new", NUMBER)
    [run] = [each for each in await running.store.runs.list() if each.text == "before"]
    found = await RecipientAddresses(running.store).find_location(running.channel, run)
    assert found == ChatLocation(ADA)
    typed = running.channel.typing_chats.count(ADA_NUMBER)
    await deliver(running, written("tell", ADA))
    await running.channel.wait_until(lambda: running.channel.previews[-1:] == [(ADA, "so far")])
    running.brain.gate.set()
    await running.channel.wait_for_text("and further", BY_USER_ID)
    assert running.channel.typing_chats.count(ADA_NUMBER) == typed


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        (None, ["1"]),
        (IdentityLink("p", "U", "1", (), "1"), ["1", "1", "U"]),
        (IdentityLink("p", "U", "2", (), "2"), ["2", "U"]),
        (IdentityLink("p", "U", "", (), "U"), ["U"]),
    ],
)
def test_a_chat_is_kept_if_it_is_among_the_ids_of_the_person(link: IdentityLink | None, expected: list[str]) -> None:
    assert list(list_addresses("1", link)) == expected


async def test_a_group_and_a_person_without_several_ids_keep_their_chat() -> None:
    addresses, channel = RecipientAddresses(SqlHostStore("memory://")), SyntheticChannel()
    assert await addresses.find_chat(channel, "", "-100/5") == "-100/5"
    assert await addresses.find_chat(channel, "synthetic:5", "5/7") == "5/7"
