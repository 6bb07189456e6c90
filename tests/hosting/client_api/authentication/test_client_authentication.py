"""API tokens at the door: whose they are, what they may do, and until when."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from sophon.security.authorization.api_tokens import digest_api_token, generate_api_token
from sophon.testing import VirtualClock
from sophon_hosting.client_api.authentication.client_authentication import ClientAuthenticator
from sophon_hosting.client_api.authentication.token_authentication import TokenAuthenticator, Unauthorized, User
from sophon_hosting.store.api_tokens.api_token import ApiToken
from sophon_hosting.store.sql_host_store import SqlHostStore

SECRET = generate_api_token()
USERS = {"token-of-ada": User("ada"), "token-of-olga": User("olga", operator=True)}


class Door:
    def __init__(self, users: dict[str, User] = USERS) -> None:
        self.clock = VirtualClock(auto=False)
        self.store = SqlHostStore("memory://", clock=self.clock)
        self.authenticator = ClientAuthenticator(TokenAuthenticator(users), self.store, self.clock)

    async def give(self, principal: str = "ada", *scopes: str, **fields: Any) -> None:
        now = self.clock.now()
        token = ApiToken("a1", digest_api_token(SECRET), principal, "", scopes, now, now + timedelta(days=1))
        await self.store.api_tokens.add(replace(token, **fields))


async def test_a_token_gives_its_users_rights_within_its_scopes() -> None:
    door = Door()
    await door.give("ada", "Chat")
    user = await door.authenticator.authenticate(SECRET)

    assert (user.id, user.operator, user.scopes) == ("ada", False, {"Chat", "Read"})
    assert await door.authenticator.authenticate("token-of-ada") == User("ada")


@pytest.mark.parametrize(
    ("principal", "scopes", "operator"),
    [("olga", ("Operator",), True), ("olga", ("Chat",), False), ("ada", ("Operator", "Chat"), False)],
)
async def test_nobody_becomes_an_operator_by_a_token(principal: str, scopes: tuple[str, ...], operator: bool) -> None:
    door = Door()
    await door.give(principal, *scopes)

    assert (await door.authenticator.authenticate(SECRET)).operator is operator


@pytest.mark.parametrize(
    ("fields", "token"),
    [
        ({"principal": "gone"}, SECRET),
        ({"revoked_at": VirtualClock(auto=False).now()}, SECRET),
        ({"expires_at": VirtualClock(auto=False).now()}, SECRET),
        ({}, SECRET + "x"),
        ({}, "sophon_"),
        ({}, SECRET.upper()),
        ({}, digest_api_token(SECRET)),
        ({}, "sophon_\ud83d"),
        ({}, "a1"),
        ({}, ""),
    ],
    # The secret is random, and the workers of a test run must agree on the names of the tests.
    ids=["gone", "revoked", "expired", "longer", "empty", "upper", "digest", "surrogate", "short", "none"],
)
async def test_other_tokens_are_refused(fields: dict[str, Any], token: str) -> None:
    door = Door()
    await door.give(**{"principal": "ada", **fields})
    with pytest.raises(Unauthorized):
        await door.authenticator.authenticate(token)


async def test_a_login_ends_with_its_expiry_and_its_revocation() -> None:
    door = Door()
    await door.give()
    user = await door.authenticator.authenticate(SECRET)
    assert user.can_end
    assert await door.authenticator.is_still_valid(user)
    await door.store.api_tokens.revoke("a1", door.clock.now())
    assert not await door.authenticator.is_still_valid(user)
    assert not await door.authenticator.is_still_valid(replace(user, token_id="unknown"))

    ends = User("ada", expires_at=door.clock.now() + timedelta(seconds=5))
    assert await door.authenticator.is_still_valid(ends)
    door.clock.advance(5)
    assert not await door.authenticator.is_still_valid(ends)


async def test_the_last_use_is_recorded_once_a_minute() -> None:
    door, used = Door(), list[Any]()
    await door.give()
    for _ in range(3):
        await door.authenticator.authenticate(SECRET)
        used.append((await door.store.api_tokens.get("a1")).last_used_at)
        door.clock.advance(30)

    assert used[0] == used[1] == used[2] - timedelta(minutes=1)


async def test_a_host_without_users_knows_its_local_user_only() -> None:
    door = Door({})
    await door.give("local", "Read")

    assert await door.authenticator.authenticate(SECRET) == User("local", operator=True)
