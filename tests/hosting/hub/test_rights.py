"""Rights over Socket.IO: what a level or a token may not do is refused by event, and a reader creates no session."""

import asyncio
from datetime import timedelta

import pytest
from socketio.exceptions import ConnectionError as Refused

from sophon.security.authorization.api_tokens import digest_api_token, generate_api_token
from sophon_hosting.client_api.authentication.token_authentication import User
from sophon_hosting.store.api_tokens.api_token import ApiToken

CHAT_ONLY = {"Permissions": {"Users": {"bob": {"Level": "ZeroTrust"}}}}
SILENT = {"Permissions": {"Users": {"bob": {"Level": "ZeroTrust"}}, "Levels": {"ZeroTrust": {"Features": []}}}}
READER = {"token-of-bob": User("bob", scopes=frozenset({"Read"}))}


@pytest.mark.parametrize("settings", [CHAT_ONLY])
async def test_a_feature_above_the_level_is_refused_with_the_level(house, settings) -> None:
    bob = await house.peer("bob")
    error = await bob.refused("decide_approval", {"approval_id": "x", "decision": "approve"})

    assert (error["code"], error["feature"], error["level"]) == ("level_needed", "Approvals", "User")
    await bob.done("send_message", {"content": "hello"})


@pytest.mark.parametrize("settings", [SILENT])
async def test_who_may_not_write_is_refused_with_the_reason_and_leaves_no_session(house, settings) -> None:
    bob = await house.peer("bob")
    error = await bob.refused("send_message", {"content": "hello", "session_id": "s"})

    assert (error["code"], error["feature"], error["level"]) == ("level_needed", "Chat", "User")
    assert error["message"] == "Chat needs the level User; yours is ZeroTrust"
    assert (await bob.done("list_sessions"))["items"] == []


@pytest.mark.parametrize("users", [READER])
async def test_a_reading_token_writes_nothing_and_creates_no_session(house, users) -> None:
    bob = await house.peer("bob")
    assert (await bob.refused("send_message", {"content": "hello"}))["scope"] == "Chat"
    assert (await bob.refused("join_session", {"session_id": "new"}))["code"] == "not_found"
    assert (await bob.done("list_sessions"))["items"] == []


@pytest.mark.parametrize("users", [{"token-of-olga": User("olga", operator=True, scopes=frozenset({"Chat"}))}])
async def test_the_operator_namespace_needs_its_scope(house, users) -> None:
    async with house.raw(None) as raw:
        await raw.say('40/operator,{"token":"token-of-olga"}')
        assert "scope_needed" in await raw.next()


async def give(house, secret: str) -> None:
    now = house.clock.now()
    token = ApiToken("a1", digest_api_token(secret), "ada", "", ("Chat",), now, now + timedelta(hours=1))
    await house.host.services.store.api_tokens.add(token)


async def test_who_is_connected_with_a_token_is_disconnected_when_it_is_revoked(house) -> None:
    secret = generate_api_token()
    await give(house, secret)
    listener = await house.peer(auth={"token": secret})
    await listener.done("send_message", {"content": "hello"})

    await house.host.services.store.api_tokens.revoke("a1", house.clock.now())
    house.clock.advance(1)
    async with asyncio.timeout(10):
        await listener.gone.wait()
    with pytest.raises(Refused):
        await house.peer(auth={"token": secret})


async def test_nothing_that_is_sent_with_a_revoked_token_is_done(house) -> None:
    secret = generate_api_token()
    await give(house, secret)
    async with house.raw(None) as raw:
        await raw.say(f'40{{"token":"{secret}"}}')
        assert (await raw.next()).startswith("40")
        await house.host.services.store.api_tokens.revoke("a1", house.clock.now())
        await raw.say('420["send_message",{"content":"hello"}]')
        await raw.end()
    assert await house.host.services.store.runs.list() == []


async def test_who_is_connected_is_disconnected_when_the_token_expires(house) -> None:
    secret = generate_api_token()
    await give(house, secret)
    listener = await house.peer(auth={"token": secret})
    house.clock.advance(3600)
    async with asyncio.timeout(10):
        await listener.gone.wait()
