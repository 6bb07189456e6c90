"""Principals: no two kinds overlap, and each has a folder of its own."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from sophon.principals import (
    RESERVED_NAMES,
    channel_chat_principal,
    channel_person_principal,
    data_owner_of_turn,
    files_folder,
    hub_user_principal,
    is_channel_name,
)
from tests.tables import table


@table(
    ("user_id", "principal"),
    [
        ("ada", "ada"),
        ("ada@example.org", "ada@example.org"),
        ("telegram:5", "user:telegram:5"),
        ("telegram:chat:-1", "user:telegram:chat:-1"),
        ("user:ada", "user:user:ada"),
        ("group:demo", "user:group:demo"),
        *((name, f"user:{name}") for name in sorted(RESERVED_NAMES)),
    ],
)
def test_a_hub_user_is_nobody_of_another_kind(user_id: str, principal: str) -> None:
    assert hub_user_principal(user_id) == principal


@given(st.text(min_size=1), st.text(min_size=1))
def test_principals_of_different_kinds_are_never_equal(first: str, second: str) -> None:
    kinds = [
        {hub_user_principal(first), hub_user_principal(second)},
        {channel_person_principal("telegram", first), channel_person_principal("telegram", second)},
        {channel_chat_principal("telegram", first), channel_chat_principal("telegram", second)},
        {data_owner_of_turn("", first, group=True), data_owner_of_turn("", second, group=True)},
    ]
    for one, other in itertools.combinations(kinds, 2):
        assert one.isdisjoint(other)
    assert all(len(kind) == (1 if first == second else 2) for kind in kinds)


@table(
    ("principal", "folder"),
    [
        ("", "."),
        ("local", "."),
        ("ada", "principals/ada"),
        ("Ada", "principals/_41da"),
        ("telegram:5", "principals/telegram_3a5"),
        ("../ada", "principals/_2e_2e_2fada"),
        ("a_b", "principals/a_5fb"),
    ],
)
def test_a_principal_has_a_folder_that_says_whose_it_is(principal: str, folder: str) -> None:
    assert files_folder(principal).as_posix() == folder


@given(st.text(min_size=1, max_size=300), st.text(min_size=1, max_size=300))
def test_two_principals_never_share_a_folder_even_where_case_does_not_count(first: str, second: str) -> None:
    one, other = files_folder(first).as_posix(), files_folder(second).as_posix()
    assert (one.casefold() == other.casefold()) == (first == second)
    assert len(files_folder(first).name) <= 120
    assert set(files_folder(first).name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-_")


@table("name", ["user", "local", "group", "role", "", "a:b"])
def test_a_channel_cannot_have_the_name_of_another_namespace(name: str) -> None:
    assert not is_channel_name(name)
