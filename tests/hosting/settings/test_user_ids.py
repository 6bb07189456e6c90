"""Ids of hub users that a person cannot read are refused; such that look alike are reported."""

import pytest

from sophon.errors import SettingsError
from sophon.settings import Settings
from sophon_hosting.dangerous_settings.finder import find_dangerous_settings
from sophon_hosting.settings.user_ids import find_look_alikes


def settings(*user_ids: str) -> Settings:
    users = [{"Id": each, "Token": f"a-long-token-number-{n}"} for n, each in enumerate(user_ids)]
    return Settings.from_mapping({"Hub": {"Users": users}})


@pytest.mark.parametrize(
    "user_id",
    [
        "a\x1bda",
        "a\nda",
        "a\tda",
        "ada\u202e",
        "a\u200bda",
        "ada\u3164",
        " ada",
        "ada ",
        "ada\u00a0",
        "a\u241fda",
        "\u0000",
    ],
)
def test_an_id_that_cannot_be_read_is_refused(user_id: str) -> None:
    with pytest.raises(SettingsError, match=r"Users\[?.?0.*Id"):
        settings(user_id)


@pytest.mark.parametrize("user_id", ["ada", "telegram:5", "Zoë", "анна", "ada lovelace", "bob@example.org"])
def test_other_ids_are_accepted(user_id: str) -> None:
    assert settings(user_id).hub.users[0].id == user_id


@pytest.mark.parametrize(
    ("first", "second", "alike"),
    [
        ("ada", "ADA", True),
        ("ada", "\u0430d\u0430", True),
        ("ada", "\uff41da", True),
        ("zo\u00eb", "zoe\u0308", True),
        ("bob", "b\u03bfb", True),
        ("ada", "adam", False),
        ("zoe", "zo\u00eb", False),
    ],
)
def test_ids_that_look_alike_are_found(first: str, second: str, alike: bool) -> None:
    assert find_look_alikes([first, "other", second]) == ([(first, second)] if alike else [])


def test_ids_that_look_alike_are_reported() -> None:
    found = [str(each) for each in find_dangerous_settings(settings("ada", "ADA"))]
    assert any(each.startswith("Hub.Users ADA: its id looks like that of ada") for each in found)
