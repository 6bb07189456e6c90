"""The number and the user id of one person: rights and data stay the person's, and are never a later holder's."""

from datetime import UTC, datetime
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon.testing import VirtualClock
from sophon_channels.access_policy import AccessPolicy
from sophon_channels.contract import ChatLocation, IdentityChanged, InboundMessage, Person
from sophon_channels.testing import SyntheticChannel
from sophon_hosting.channels.chat_state import ChatState
from sophon_hosting.channels.identity_links import IdentityLink, IdentityLinks
from sophon_hosting.channels.pairing import PairingService
from sophon_hosting.store.sql_host_store import SqlHostStore

ADA_NUMBER, ADA = "15550002222", "US.1"
EVE, NEW_NUMBER = "US.9", "15550003333"
LISTED = AccessPolicy(allow_from=frozenset({ADA_NUMBER}), direct_policy="AllowList")
NUMBERS = count(1)


def written(text: str, user_id: str = "", number: str = "") -> InboundMessage:
    name = f"w{next(NUMBERS)}"
    person = Person(user_id or number, "Ada", user_id=user_id, number=number)
    return InboundMessage(name, person, ChatLocation(number or user_id), text, name, datetime(2026, 1, 1, tzinfo=UTC))


async def deliver(running: Any, *events: Any) -> None:
    await running.channel.wait_until(lambda: running.channel.health.state == "running")
    await running.channel.deliver(*events)


async def runs(running: Any) -> list[tuple[str, str, str]]:
    """Text, owner and session of all runs."""
    return [(run.text, run.owner, run.session_id) for run in reversed(await running.store.runs.list())]


async def test_a_listed_number_keeps_rights_session_and_principal_when_a_user_id_comes(start: Any) -> None:
    running = await start(policy=LISTED)
    await deliver(running, written("by number", number=ADA_NUMBER))
    await deliver(running, written("by both", ADA, ADA_NUMBER))
    await deliver(running, written("by user id", ADA))
    await running.channel.wait_for_text("You said: by user id", ChatLocation(ADA_NUMBER))
    owner, session = f"synthetic:{ADA_NUMBER}", f"synthetic-{ADA_NUMBER}"
    assert await runs(running) == [(text, owner, session) for text in ("by number", "by both", "by user id")]


async def test_a_user_id_that_no_signed_message_has_linked_has_no_rights(start: Any) -> None:
    running = await start(policy=LISTED)
    await deliver(running, written("by number", number=ADA_NUMBER), written("by user id", ADA))
    assert [text for text, _, _ in await runs(running)] == ["by number"]


async def test_a_pairing_by_number_is_kept_by_the_user_id(start: Any) -> None:
    running = await start(policy=AccessPolicy())
    await deliver(running, written("hello", number=ADA_NUMBER))
    text = await running.channel.wait_for_text("sophon pairing approve", ChatLocation(ADA_NUMBER))
    pairing = PairingService(running.store, running.host.services.clock)
    await pairing.approve(text.rpartition(" ")[2].rstrip(")"))
    await deliver(running, written("by both", ADA, ADA_NUMBER), written("by user id", ADA))
    assert [text for text, _, _ in await runs(running)] == ["by both", "by user id"]
    [found] = await pairing.list_requests()
    assert (found.person_id, found.user_id, found.number) == (ADA_NUMBER, ADA, ADA_NUMBER)
    await pairing.revoke(f"synthetic:{ADA}")
    await deliver(running, written("revoked", ADA, ADA_NUMBER))
    assert len(await runs(running)) == 2


async def test_a_number_that_appears_with_an_unknown_user_id_is_another_person_without_rights(start: Any) -> None:
    running = await start(policy=LISTED)
    await deliver(running, written("ada", ADA, ADA_NUMBER))
    await deliver(running, written("eve", EVE, ADA_NUMBER))
    # Of a stranger nothing is stored, so the number alone still counts as Ada's.
    await deliver(running, written("ada again", ADA))
    assert [text for text, _, _ in await runs(running)] == ["ada", "ada again"]


async def test_whoever_gets_the_number_sees_nothing_of_who_had_it(start: Any) -> None:
    running = await start(policy=AccessPolicy(direct_policy="Open"))
    place = ChatLocation(ADA_NUMBER)
    await deliver(running, written("pay Bob", ADA, ADA_NUMBER))
    await running.channel.wait_for_text("May pay run?", place)
    await deliver(running, written("/status", EVE, ADA_NUMBER), written("/pending", EVE, ADA_NUMBER))
    await deliver(running, written("/stop", EVE, ADA_NUMBER), written("mine", EVE, ADA_NUMBER))
    assert "Nothing is running in this conversation" in await running.channel.wait_for_text("places", place)
    await running.channel.wait_for_text("Nothing waits for a decision.", place)
    await running.channel.wait_for_text("Nothing is running.", place)
    sessions = {owner: session for _, owner, session in await runs(running)}
    assert len(set(sessions.values())) == 2
    # What comes from Ada is answered where only Ada is.
    await deliver(running, written("/stop", ADA), written("hello", ADA))
    await running.channel.wait_for_text("You said: hello", ChatLocation(ADA))
    assert (await runs(running))[-1][1:] == (f"synthetic:{ADA}", sessions[f"synthetic:{ADA}"])


async def test_reported_new_ids_move_the_link_and_the_chat(start: Any) -> None:
    running = await start(policy=LISTED)
    await deliver(running, written("before", ADA, ADA_NUMBER))
    await deliver(running, IdentityChanged("c1", ADA, ADA_NUMBER, "US.2", NEW_NUMBER))
    await deliver(running, written("after", "US.2", NEW_NUMBER), written("and then", "US.2"))
    await running.channel.wait_for_text("You said: and then", ChatLocation(NEW_NUMBER))
    facts = await runs(running)
    assert [text for text, _, _ in facts] == ["before", "after", "and then"]
    assert len({fact[1:] for fact in facts}) == 1


async def test_a_new_user_id_without_any_number_is_the_same_person(start: Any) -> None:
    running = await start(policy=LISTED)
    await deliver(running, written("before", ADA, ADA_NUMBER))
    await deliver(running, IdentityChanged("c1", old_user_id=ADA, new_user_id="US.2"), written("after", "US.2"))
    assert [text for text, _, _ in await runs(running)] == ["before", "after"]


async def test_whoever_writes_from_a_number_that_was_given_up_is_somebody_else(start: Any) -> None:
    running = await start(policy=LISTED)
    await deliver(running, written("before", number=ADA_NUMBER))
    change = IdentityChanged("c1", old_number=ADA_NUMBER, new_number=NEW_NUMBER)
    await deliver(running, change, written("after", number=NEW_NUMBER))
    await deliver(running, change, written("not ada", number=ADA_NUMBER), written("nor this", EVE, ADA_NUMBER))
    assert [text for text, _, _ in await runs(running)] == ["before", "after"]


async def test_new_ids_of_somebody_unknown_grant_nothing(start: Any) -> None:
    running = await start(policy=LISTED)
    await deliver(running, IdentityChanged("c1", EVE, NEW_NUMBER, "US.10", "1777"))
    await deliver(running, IdentityChanged("c2", old_user_id=EVE, new_number=ADA_NUMBER))
    await deliver(running, written("eve", "US.10", "1777"), written("eve", EVE))
    assert await runs(running) == []
    assert await running.store.channel_state.list("alias") == []


async def test_an_unlinked_number_is_linked_anew_to_who_writes_next(start: Any) -> None:
    running = await start(policy=LISTED)
    await deliver(running, written("ada", number=ADA_NUMBER), written("ada", ADA, ADA_NUMBER))
    await deliver(running, written("refused", EVE, ADA_NUMBER))
    await PairingService(running.store, running.host.services.clock).unlink(ADA_NUMBER)
    await deliver(running, written("eve", EVE, ADA_NUMBER), written("ada no more", ADA))
    _, (_, ada, first), (_, eve, second) = await runs(running)
    assert (eve, ada != eve, first != second) == (f"synthetic:{EVE}", True, True)


async def test_an_approver_by_number_decides_by_user_id_and_four_eyes_see_one_person(start: Any) -> None:
    policy = AccessPolicy(approvers=frozenset({ADA_NUMBER}), direct_policy="AllowList")
    running = await start(policy=policy, Approval={"FourEyes": True})
    await deliver(running, written("hello", ADA, ADA_NUMBER))
    operators = running.host.services.security.operator_policy
    assert operators.is_operator(f"synthetic:{ADA}")
    await deliver(running, written("wreck it", ADA))
    await running.channel.wait_until(lambda: any(each.payload.get("buttons") for each in running.channel.sent))
    [record] = await running.store.approvals.list()
    run = await running.store.runs.get(record.request.run_id)
    assert run.owner == f"synthetic:{ADA}"
    found = operators.find_problem(record.request.risk, asker=run.owner, decider=run.owner, approves=True)
    assert found == "operator_needed"


IDS = st.sampled_from(["", "US.1", "US.2", "US.3"])
NUMBER_IDS = st.sampled_from(["", "1", "2", "3"])
MESSAGES = st.tuples(st.just("message"), IDS, NUMBER_IDS)
CHANGES = st.tuples(st.just("change"), IDS, NUMBER_IDS, IDS, NUMBER_IDS)


class Model:
    """Who a message is from, for identities that only messages with both ids make known."""

    def __init__(self) -> None:
        clock = VirtualClock()
        self.store = SqlHostStore("memory://", clock=clock)
        channel = SyntheticChannel()
        self.seen: list[IdentityLink] = []
        state = ChatState(channel, self.store, clock)
        self.links = IdentityLinks(channel, self.store, state, self.seen.append)

    async def person(self, user_id: str, number: str) -> Person:
        found = await self.links.identify(
            Person(user_id or number, user_id=user_id, number=number), ChatLocation(number or user_id)
        )
        await self.links.store(found)
        return found.person


@pytest.mark.parametrize("first", [("US.1", "1")])
@given(st.lists(MESSAGES, max_size=8))
async def test_no_message_gives_a_second_user_id_the_rights_of_a_number(first: tuple[str, str], events: Any) -> None:
    model = Model()
    owner = await model.person(*first)
    assert "1" in owner.listed_ids
    for _, user_id, number in events:
        if user_id or number:
            await model.person(user_id, number)
    for other in ("US.2", "US.3"):
        for number in ("", "1", "2", "3"):
            assert "1" not in (await model.person(other, number)).known_ids
    assert "1" in (await model.person("US.1", "")).known_ids


@given(st.lists(MESSAGES | CHANGES, max_size=10))
async def test_any_order_of_events_gives_each_id_one_person_and_each_right_one_holder(events: Any) -> None:
    model = Model()
    for kind, *ids in events:
        if kind == "message" and any(ids):
            await model.person(*ids)
        elif kind == "change" and any(ids[:2]) and any(ids[2:]):
            await model.links.change(IdentityChanged("c", *ids))
    holders: dict[str, str] = {}
    for note in await model.store.channel_state.list("link"):
        for listed in note.value["listed_ids"]:
            assert holders.setdefault(listed, note.key) == note.key
