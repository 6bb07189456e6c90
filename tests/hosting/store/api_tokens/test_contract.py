"""What every store promises of API tokens."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from sophon.errors import NotFound, StoreError
from sophon.stores.contract import Store
from sophon_hosting.store.api_tokens.api_token import ApiToken

T0 = datetime(2026, 11, 23, 12, tzinfo=UTC)
TOKEN = ApiToken("a1", "d1", "ada", "laptop \u00e4\x00", ("Chat", "Read"), T0, T0 + timedelta(days=1))


async def test_a_token_is_found_by_its_digest_and_its_id(store: Store) -> None:
    await store.api_tokens.add(TOKEN)

    assert await store.api_tokens.find("d1") == TOKEN
    assert await store.api_tokens.get("a1") == TOKEN
    assert await store.api_tokens.find("a1") is None
    with pytest.raises(NotFound):
        await store.api_tokens.get("d1")


@pytest.mark.parametrize("other", [replace(TOKEN, id="a2"), replace(TOKEN, digest="d2")])
async def test_an_id_and_a_digest_are_given_once(store: Store, other: ApiToken) -> None:
    await store.api_tokens.add(TOKEN)
    with pytest.raises(StoreError):
        await store.api_tokens.add(other)

    assert await store.api_tokens.list() == [TOKEN]


async def test_the_list_is_by_age_and_by_principal(store: Store) -> None:
    younger = replace(TOKEN, id="a0", digest="d0", created_at=T0 + timedelta(hours=1), expires_at=None, scopes=())
    other = replace(TOKEN, id="b", digest="b", principal="bob")
    for token in (younger, other, TOKEN):
        await store.api_tokens.add(token)

    assert await store.api_tokens.list() == [TOKEN, other, younger]
    assert await store.api_tokens.list("ada") == [TOKEN, younger]
    assert await store.api_tokens.list("nobody") == []


async def test_the_last_use_never_goes_back(store: Store) -> None:
    await store.api_tokens.add(TOKEN)
    for at in (T0 + timedelta(hours=2), T0 + timedelta(hours=1)):
        await store.api_tokens.record_use("a1", at)
    await store.api_tokens.record_use("unknown", T0)

    assert await store.api_tokens.get("a1") == replace(TOKEN, last_used_at=T0 + timedelta(hours=2))


async def test_the_first_revocation_stays(store: Store) -> None:
    await store.api_tokens.add(TOKEN)
    revoked = await store.api_tokens.revoke("a1", T0)

    assert revoked == replace(TOKEN, revoked_at=T0)
    assert await store.api_tokens.revoke("a1", T0 + timedelta(hours=1)) == revoked
    assert await store.api_tokens.find("d1") == revoked
    with pytest.raises(NotFound):
        await store.api_tokens.revoke("unknown", T0)


@pytest.mark.parametrize(
    ("token", "after", "valid"),
    [
        (TOKEN, timedelta(0), True),
        (TOKEN, timedelta(days=1), False),
        (replace(TOKEN, expires_at=None), timedelta(days=9999), True),
        (replace(TOKEN, revoked_at=T0), timedelta(0), False),
    ],
)
def test_a_token_is_valid_until_it_expires_or_is_revoked(token: ApiToken, after: timedelta, valid: bool) -> None:
    assert token.is_valid(T0 + after) is valid
