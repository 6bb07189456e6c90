"""JSON Web Tokens: who is let in by which, and every way in which one is refused."""

import base64
import json
from datetime import timedelta
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from hypothesis import given
from hypothesis import strategies as st

from sophon.errors import SettingsError
from sophon.settings import Settings
from sophon.testing import VirtualClock
from sophon_hosting.client_api.authentication.client_authentication import ClientAuthenticator
from sophon_hosting.client_api.authentication.token_authentication import TokenAuthenticator, Unauthorized
from sophon_hosting.dangerous_settings.finder import find_dangerous_settings
from sophon_hosting.store.sql_host_store import SqlHostStore

CLOCK = VirtualClock(auto=False)
NOW = int(CLOCK.now().timestamp())
SHARED = "a shared secret of at least 32 bytes"
PRIVATE, OTHER = ed25519.Ed25519PrivateKey.generate(), ed25519.Ed25519PrivateKey.generate()
ELLIPTIC = ec.generate_private_key(ec.SECP256R1())


def pem(key: Any) -> str:
    encoding, form = serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    return key.public_key().public_bytes(encoding, form).decode()


USERS = [{"Id": "ada", "Token": "token of ada"}, {"Id": "olga", "Token": "token of olga", "Operator": True}]
ED = {"Issuer": "https://id.example", "Audience": "sophon", "Algorithm": "EdDSA", "Key": pem(PRIVATE)}
HS = {**ED, "Algorithm": "HS256", "Key": SHARED}
ES = {**ED, "Algorithm": "ES256", "Key": pem(ELLIPTIC)}
CLAIMS = {"iss": "https://id.example", "aud": "sophon", "sub": "ada", "exp": NOW + 60}


def hub(*issuers: dict[str, Any]) -> Any:
    return Settings.from_mapping({"Hub": {"Users": USERS, "Issuers": list(issuers)}}).hub


def door(*issuers: dict[str, Any]) -> ClientAuthenticator:
    return ClientAuthenticator(TokenAuthenticator.from_settings(hub(*issuers), {}), SqlHostStore("memory://"), CLOCK)


def token(key: Any = PRIVATE, algorithm: str = "EdDSA", **changes: Any) -> str:
    claims = {name: value for name, value in {**CLAIMS, **changes}.items() if value is not None}
    return jwt.encode(claims, key, algorithm=algorithm)


def forge(header: dict[str, Any], signature: str = "") -> str:
    parts = [base64.urlsafe_b64encode(json.dumps(each).encode()).rstrip(b"=").decode() for each in (header, CLAIMS)]
    return f"{parts[0]}.{parts[1]}.{signature}"


@pytest.mark.parametrize(
    ("issuer", "given_token"),
    [
        (ED, token()),
        (ED, token(aud=["other", "sophon"])),
        (ED, token(nbf=NOW)),
        (HS, token(SHARED, "HS256")),
        (ES, token(ELLIPTIC, "ES256")),
    ],
)
async def test_a_token_of_the_issuer_is_its_users_login_until_it_expires(
    issuer: dict[str, Any], given_token: str
) -> None:
    authenticator = door(issuer)
    user = await authenticator.authenticate(given_token)

    assert (user.id, user.operator, user.scopes) == ("ada", False, None)
    assert user.expires_at == CLOCK.now() + timedelta(seconds=60)
    assert (await authenticator.authenticate("token of ada")).expires_at is None


async def test_an_operator_of_the_settings_is_one_by_a_jwt_too() -> None:
    assert (await door(ED).authenticate(token(sub="olga"))).operator


def hmac_with_public_key() -> str:
    """The attack on a verifier that believes the header: the public key, which everybody has, as the shared secret."""
    import hashlib
    import hmac

    signed = forge({"alg": "HS256", "typ": "JWT"})[:-1]
    made = hmac.new(pem(PRIVATE).encode(), signed.encode(), hashlib.sha256).digest()
    return f"{signed}.{base64.urlsafe_b64encode(made).rstrip(b'=').decode()}"


@pytest.mark.parametrize(
    "refused",
    [
        pytest.param(token(OTHER), id="another key"),
        pytest.param(hmac_with_public_key(), id="algorithm confusion"),
        pytest.param(token(SHARED, "HS256"), id="another algorithm"),
        pytest.param(forge({"alg": "none", "typ": "JWT"}), id="none"),
        pytest.param(forge({"alg": "None"}), id="None"),
        pytest.param(forge({"alg": "none"}, "AA"), id="none with a signature"),
        pytest.param(forge({"alg": "EdDSA"}), id="no signature"),
        pytest.param(forge({}), id="no algorithm"),
        pytest.param(token(exp=NOW), id="expired"),
        pytest.param(token(exp=None), id="no expiry"),
        pytest.param(token(exp=10**30), id="no time"),
        pytest.param(token(nbf=NOW + 1), id="not yet"),
        pytest.param(token(aud="other"), id="another audience"),
        pytest.param(token(aud=None), id="no audience"),
        pytest.param(token(iss="https://evil.example"), id="another issuer"),
        pytest.param(token(iss=None), id="no issuer"),
        pytest.param(token(sub="bob"), id="no user of the settings"),
        pytest.param(token(sub=None), id="no subject"),
        pytest.param(token(sub="local"), id="the local user"),
        pytest.param(token() + "\ud83d", id="no text"),
        pytest.param(token(pad="x" * 20_000), id="too long"),
        pytest.param(token()[:-3], id="cut"),
        pytest.param("..", id="dots"),
    ],
)
async def test_everything_else_is_refused(refused: str) -> None:
    with pytest.raises(Unauthorized):
        await door(ED).authenticate(refused)


@pytest.mark.parametrize("expires", [True, "9999999999", [], {}, float("inf")])
async def test_an_expiry_that_is_no_number_is_refused(expires: object) -> None:
    with pytest.raises(Unauthorized):
        await door(HS).authenticate(token(SHARED, "HS256", exp=expires) if expires != float("inf") else forge({}))


async def test_without_an_issuer_no_jwt_is_accepted() -> None:
    with pytest.raises(Unauthorized):
        await door().authenticate(token())


async def test_two_keys_of_an_issuer_hold_while_they_are_changed() -> None:
    authenticator = door(ED, {**ED, "Key": pem(OTHER)})
    for key in (PRIVATE, OTHER):
        assert (await authenticator.authenticate(token(key))).id == "ada"


@given(st.text(max_size=60).map(lambda text: f"{text}.{text}.x") | st.text(max_size=60))
def test_no_text_makes_the_verifier_fail(text: str) -> None:
    verifier = TokenAuthenticator.from_settings(hub(ED), {}).issuers
    assert verifier is not None
    assert verifier.verify(text, CLOCK.now()) is None


@pytest.mark.parametrize(
    ("issuer", "problem"),
    [
        ({**HS, "Key": "too short"}, "it has 9 bytes; HS256 needs at least 32"),
        ({**ED, "Key": "no key"}, "it is no key of EdDSA"),
        ({**HS, "Key": pem(PRIVATE)}, "it is no key of HS256"),
        ({**ED, "Key": {"$env": "NOWHERE"}}, "is missing or empty"),
    ],
)
def test_a_key_that_cannot_be_used_stops_the_start(issuer: dict[str, Any], problem: str) -> None:
    with pytest.raises(SettingsError) as caught:
        TokenAuthenticator.from_settings(hub(issuer), {})
    assert "Hub.Issuers[0].Key: " in str(caught.value)
    assert problem in str(caught.value)


@pytest.mark.parametrize("changed", [{"Algorithm": "none"}, {"Audience": ""}, {"Issuer": ""}])
def test_an_issuer_has_an_algorithm_a_name_and_an_audience(changed: dict[str, Any]) -> None:
    with pytest.raises(SettingsError):
        hub({**ED, **changed})


def test_an_issuer_needs_users_and_a_shared_secret_is_named_dangerous() -> None:
    with pytest.raises(SettingsError, match="there are none"):
        Settings.from_mapping({"Hub": {"Issuers": [ED]}})
    settings = Settings.from_mapping({"Hub": {"Users": USERS, "Issuers": [HS, ED]}})
    found = [each.path for each in find_dangerous_settings(settings)]
    assert [path for path in found if "Issuers" in path] == ["Hub.Issuers[0].Algorithm HS256"]
