"""Rights of a client: features by permission level, scopes of a token, and what is answered without them."""

from typing import Any

import pytest

from sophon.security.authorization.permission_levels import FEATURES
from sophon.settings import Settings
from sophon.settings.sections.permissions import LevelNeeded
from sophon_hosting.client_api.client_errors import to_error_payload
from sophon_hosting.client_api.rights import IMPLIED_SCOPES, SCOPES, ClientRights, ScopeNeeded

ZERO = {"Users": {"*": {"Level": "ZeroTrust"}}}


def rights(permissions: dict[str, Any], *, scopes: set[str] | None = None, is_operator: bool = False) -> ClientRights:
    found = Settings.from_mapping({"Permissions": permissions}).permissions
    return ClientRights.resolve(found, "bob", channel="hub", is_operator=is_operator, scopes=scopes)


@pytest.mark.parametrize(
    ("given", "features"),
    [
        (rights({}), FEATURES),
        (rights(ZERO), ("Chat",)),
        (rights(ZERO, is_operator=True), FEATURES),
        (rights({"Channels": {"hub": {"Level": "ZeroTrust"}}}), ("Chat",)),
        (rights({"Channels": {"telegram": {"Level": "ZeroTrust"}}}), FEATURES),
        (rights({"Levels": {"User": {"Features": ["Memory"]}}}), ("Memory",)),
        (rights({}, scopes={"Memory"}), ("Memory", "FullHistory")),
        (rights({}, scopes={"Read"}), ("FullHistory",)),
        (rights({}, scopes={"OpenAiApi"}), ("Chat", "OpenAiApi", "FullHistory")),
        (rights(ZERO, scopes={"Memory"}), ()),
        (rights({}, scopes=set()), ("FullHistory",)),
    ],
)
def test_level_and_scopes_together_say_what_may_be_used(given: ClientRights, features: tuple[str, ...]) -> None:
    assert tuple(feature for feature in FEATURES if given.allows(feature)) == features


def test_what_a_level_may_not_use_is_answered_with_the_level_that_may() -> None:
    with pytest.raises(LevelNeeded) as caught:
        rights(ZERO).require("Export")
    payload = to_error_payload(caught.value)

    assert (payload.status, payload.code) == (403, "level_needed")
    assert payload.extra == {"feature": "Export", "level": "User"}
    assert payload.message == "Export needs the level User; yours is ZeroTrust"


def test_what_no_level_may_use_says_so() -> None:
    nobody: dict[str, Any] = {name: {"Features": []} for name in ("ZeroTrust", "User", "Admin")}
    with pytest.raises(LevelNeeded, match="open to no level") as caught:
        rights({"Levels": nobody}).require("Export")

    assert caught.value.level is None


def test_what_a_token_may_not_do_is_answered_with_the_scope_that_it_needs() -> None:
    with pytest.raises(ScopeNeeded) as caught:
        rights({}, scopes={"Read"}).require("Chat")
    payload = to_error_payload(caught.value)

    assert (payload.status, payload.code, payload.extra) == (403, "scope_needed", {"scope": "Chat"})


def test_what_a_person_sees_of_a_history_follows_from_the_level_alone() -> None:
    rights({}, scopes={"Read"}).require("FullHistory")
    with pytest.raises(LevelNeeded):
        rights(ZERO, scopes={"Read"}).require("FullHistory")


def test_scopes_contain_scopes_only() -> None:
    assert {each for scope, implied in IMPLIED_SCOPES.items() for each in (scope, *implied)} <= set(SCOPES)
