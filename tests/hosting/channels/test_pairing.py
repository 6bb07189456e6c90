"""Codes: who waits, who is let in, who no longer."""

from datetime import timedelta

import pytest

from sophon.clock import Clock
from sophon.errors import NotFound
from sophon.testing import VirtualClock
from sophon_channels.access_policy import AccessPolicy
from sophon_channels.contract import ChatLocation, Person
from sophon_hosting.channels.pairing import CODE_LIFETIME, PairingService
from sophon_hosting.store.sql_host_store import SqlHostStore

EVE = Person("2", "Eve")


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(auto=False)


@pytest.fixture
def pairing(clock: Clock) -> PairingService:
    return PairingService(SqlHostStore("memory://", clock=clock), clock)


async def asks(pairing: PairingService, person: Person = EVE) -> str | None:
    return await pairing.request_code("telegram", "7", person, ChatLocation(person.id))


async def test_a_code_lets_in_who_was_given_it_however_it_is_typed(pairing: PairingService) -> None:
    code = await asks(pairing)
    assert code is not None
    request = await pairing.approve(f" {code[:4].lower()}-{code[4:]}")
    assert (request.person_id, request.name) == ("2", "Eve")
    assert [(each.person_id, each.is_paired) for each in await pairing.list_requests()] == [("2", True)]


async def test_a_code_is_given_once_and_to_three_at_a_time(pairing: PairingService) -> None:
    codes = [await asks(pairing, Person(str(number))) for number in range(5)]
    assert [code is not None for code in codes] == [True, True, True, False, False]
    assert await asks(pairing, Person("0")) is None


async def test_a_code_lasts_an_hour(pairing: PairingService, clock: VirtualClock) -> None:
    code = await asks(pairing)
    clock.advance(CODE_LIFETIME.total_seconds() + 1)
    assert code is not None
    with pytest.raises(NotFound):
        await pairing.approve(code)
    assert await asks(pairing) not in (None, code)
    assert timedelta(hours=1) == CODE_LIFETIME


@pytest.mark.parametrize("who", ["2", "telegram:2"])
async def test_who_is_revoked_is_unknown_again(pairing: PairingService, who: str) -> None:
    code = await asks(pairing)
    await pairing.approve(str(code))
    await pairing.revoke(who)
    assert await pairing.list_requests() == []
    with pytest.raises(NotFound):
        await pairing.revoke(who)


async def test_who_was_let_in_by_a_code_talks_and_nobody_else_and_not_in_groups(start) -> None:
    running = await start(policy=AccessPolicy(group_policy="All"))
    channel, place = running.channel, ChatLocation("66")
    await channel.deliver_message("hello", person=EVE, location=place)
    said = await channel.wait_for_text("sophon pairing approve", place)
    await PairingService(running.store, running.host.services.clock).approve(said.split()[-1].rstrip(")"))
    await channel.deliver_message("hello again", person=EVE, location=place)
    await channel.wait_for_text("You said: hello again", place)
    await channel.deliver_message("and here", person=EVE, location=ChatLocation("-5", "group"), is_mention=True)
    await channel.deliver_message("after", person=EVE, location=place)
    await channel.wait_for_text("You said: after", place)
    assert channel.sent_texts(ChatLocation("-5", "group")) == []
