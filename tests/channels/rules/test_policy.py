import pytest

from sophon_channels.contract import Person, Place
from sophon_channels.rules.policy import Policy, Verdict

ADA, EVE, BOSS = Person("1"), Person("2"), Person("3")
DIRECT, GROUP, OURS = Place("10"), Place("-20", "group"), Place("-30", "group")


def policy(direct: str = "Pairing", group: str = "MentionOnly") -> Policy:
    return Policy(frozenset("1"), frozenset("3"), direct, group, frozenset(["-30"]))  # type: ignore[arg-type] # a table


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
def test_who_may_write_directly(direct: str, person: Person, paired: bool, expected: Verdict) -> None:
    assert policy(direct).verdict(person, DIRECT, mentioned=False, paired=paired, chats=["10"]) == expected


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
def test_what_counts_in_groups(group: str, place: Place, person: Person, mentioned: bool, expected: bool) -> None:
    found = policy(group=group).verdict(person, place, mentioned=mentioned, paired=True, chats=[place.chat])
    assert found == ("let_in" if expected else "ignore")


def test_a_group_that_has_a_new_id_is_still_the_group_of_the_settings() -> None:
    moved = Place("-100", "group")
    assert policy().verdict(EVE, moved, mentioned=True, paired=False, chats=["-100", "-30"]) == "let_in"
