"""Renamed, pinned and archived sessions: every client who may see one in a list is told, and nobody else."""

from sophon_hosting.client_api.authentication.token_authentication import User
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.features.sessions.operations import change_session
from tests.hosting.calls import call


async def test_who_may_see_a_session_hears_of_its_change_once_whether_joined_or_not(house) -> None:
    joined, other = await house.peer("ada"), await house.peer("ada")
    operator = await house.peer("olga", "/operator")
    bob = await house.peer("bob")
    await joined.done("join_session", {"session_id": "s"})
    await bob.done("join_session", {"session_id": "his"})
    await call(Caller(house.host, User("ada")), change_session, session_id="s", pinned=True)
    for each in (joined, other, operator):
        assert (await each.until("session_changed"))["pinned"] is True
    for each in (joined, other, operator, bob):
        await each.done("list_sessions", {})  # what was sent before has arrived
    assert [len(each.of("session_changed")) for each in (joined, other, operator, bob)] == [1, 1, 1, 0]
