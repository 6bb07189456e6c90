import pytest

from sophon.errors import SettingsError
from sophon.principals import LOCAL_USER
from sophon.settings import Settings
from sophon_hosting.client_api.authentication.token_authentication import TokenAuthenticator, Unauthorized, User

USERS = [
    {"Id": "ada", "Token": {"$env": "ADA"}, "Operator": True},
    {"Id": "bob", "Token": {"$env": "BOB"}},
]
TOKENS = {"ADA": "ada's long token", "BOB": "bob's long token"}


def access(users=USERS, environment=TOKENS) -> TokenAuthenticator:
    return TokenAuthenticator.from_settings(Settings.from_mapping({"Hub": {"Users": users}}).hub, environment)


def test_a_token_is_its_user() -> None:
    assert access().authenticate("bob's long token") == User("bob")
    assert access().authenticate("ada's long token") == User("ada", operator=True)
    assert access().operator_ids == {"ada"}


@pytest.mark.parametrize("token", [None, "", "bob", "bob's long token ", "BOB'S LONG TOKEN", "\ud800"])
def test_no_token_or_a_wrong_one_lets_nobody_in(token: str | None) -> None:
    with pytest.raises(Unauthorized) as refused:
        access().authenticate(token)
    assert "long token" not in str(refused.value)


def test_without_users_everybody_is_the_local_user_and_an_operator() -> None:
    host = access(users=[])
    assert host.allows_anonymous
    assert host.authenticate(None) == User(LOCAL_USER, operator=True)
    assert host.operator_ids == {LOCAL_USER}
    assert not access().allows_anonymous


@pytest.mark.parametrize(
    ("users", "environment", "problem"),
    [
        (USERS, {"ADA": TOKENS["ADA"]}, "Hub.Users[1].Token"),
        (USERS, {**TOKENS, "BOB": ""}, "missing or empty"),
        (USERS, {**TOKENS, "BOB": "short"}, "at least 8"),
        (USERS, dict.fromkeys(TOKENS, "the same for both"), "user ada has the same token"),
    ],
)
def test_tokens_that_cannot_be_used_are_told_with_their_place(users, environment, problem: str) -> None:
    with pytest.raises(SettingsError, match=problem.replace("[", r"\[").replace("]", r"\]")) as wrong:
        access(users, environment)
    assert not any(token and token in str(wrong.value) for token in environment.values())
