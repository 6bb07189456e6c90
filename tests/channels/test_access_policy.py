import pytest

from sophon.errors import SettingsError
from sophon.settings import Settings
from sophon_channels.access_policy import AccessDecision, AccessPolicy
from sophon_channels.contract import ChatLocation, Person

ADA, EVE, BOSS = Person("1"), Person("2"), Person("3")
DIRECT, GROUP, OURS = ChatLocation("10"), ChatLocation("-20", "group"), ChatLocation("-30", "group")


def policy(direct: str = "Pairing", group: str = "MentionOnly") -> AccessPolicy:
    return AccessPolicy(frozenset("1"), frozenset("3"), direct, group, frozenset(["-30"]))  # type: ignore[arg-type] # a table


@pytest.mark.parametrize(
    ("direct", "person", "paired", "expected"),
    [
        ("Pairing", ADA, False, "let_in"),
        ("Pairing", BOSS, False, "let_in"),
        ("Pairing", EVE, False, "pair"),
        ("Pairing", EVE, True, "let_in"),
        ("AllowList", ADA, False, "let_in"),
        ("AllowList", EVE, False, "ignore"),
        ("AllowList", EVE, True, "ignore"),
        ("Open", EVE, False, "let_in"),
        ("Disabled", ADA, True, "ignore"),
    ],
)
def test_who_may_write_directly(direct: str, person: Person, paired: bool, expected: AccessDecision) -> None:
    assert policy(direct).decide_access(person, DIRECT, is_mention=False, is_paired=paired, chat_ids=["10"]) == expected


@pytest.mark.parametrize(
    ("group", "place", "person", "mentioned", "expected"),
    [
        ("MentionOnly", GROUP, ADA, True, True),
        ("MentionOnly", GROUP, ADA, False, False),
        ("MentionOnly", GROUP, EVE, True, False),
        ("MentionOnly", OURS, EVE, True, True),
        ("MentionOnly", OURS, EVE, False, False),
        ("All", GROUP, ADA, False, True),
        ("All", GROUP, EVE, True, False),
        ("All", OURS, EVE, False, True),
        ("AllowList", GROUP, ADA, True, False),
        ("AllowList", OURS, EVE, False, True),
        ("Disabled", OURS, ADA, True, False),
    ],
)
def test_what_counts_in_groups(
    group: str, place: ChatLocation, person: Person, mentioned: bool, expected: bool
) -> None:
    found = policy(group=group).decide_access(
        person, place, is_mention=mentioned, is_paired=True, chat_ids=[place.chat]
    )
    assert found == ("let_in" if expected else "ignore")


def test_a_group_that_has_a_new_id_is_still_the_group_of_the_settings() -> None:
    moved = ChatLocation("-100", "group")
    assert policy().decide_access(EVE, moved, is_mention=True, is_paired=False, chat_ids=["-100", "-30"]) == "let_in"


@pytest.mark.parametrize("channel", ["Telegram", "WhatsApp"])
def test_an_allow_list_without_anybody_does_not_start(channel: str) -> None:
    closed = {"Enabled": True, "DirectPolicy": "AllowList"}
    with pytest.raises(SettingsError, match="AllowList lets nobody in while AllowFrom is empty"):
        Settings.from_mapping({"Channels": {channel: closed}})
    for listed in ({"AllowFrom": ["1"]}, {"Approvers": ["1"]}, {"Enabled": False}, {"DirectPolicy": "Disabled"}):
        Settings.from_mapping({"Channels": {channel: {**closed, **listed}}})


def test_a_list_of_groups_without_one_does_not_start() -> None:
    closed = {"Enabled": True, "GroupPolicy": "AllowList"}
    with pytest.raises(SettingsError, match="lets no group in while AllowedGroups is empty"):
        Settings.from_mapping({"Channels": {"Telegram": closed}})
    Settings.from_mapping({"Channels": {"Telegram": {**closed, "AllowedGroups": ["-100"]}}})
