import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon_channels.approval_buttons import (
    ApprovalPress,
    build_approval_buttons,
    build_choice_buttons,
    parse_callback_data,
)
from sophon_channels.chat_commands import COMMAND_DESCRIPTIONS, ChatCommand, format_help, parse_command
from sophon_channels.short_codes import CODE_ALPHABET, generate_code, normalize_code


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/stop", ChatCommand("stop")),
        ("  /STOP@sophon_bot ", ChatCommand("stop")),
        ("/reject K7Q2M9XA too  expensive", ChatCommand("reject", "K7Q2M9XA too  expensive")),
        ("/reject K7Q2M9XA\nfor this", ChatCommand("reject", "K7Q2M9XA\nfor this")),
        ("/dance", ChatCommand("dance")),
        ("/etc/hosts", None),
        ("/", None),
        ("/2", None),
        ("stop", None),
        ("please /stop", None),
        ("", None),
    ],
)
def test_what_is_a_command(text: str, expected: ChatCommand | None) -> None:
    assert parse_command(text) == expected


@given(st.text())
def test_whatever_is_written_is_a_command_or_none(text: str) -> None:
    found = parse_command(text)
    assert found is None or (text.strip().startswith("/") and found.name == found.name.lower())


def test_help_names_every_command() -> None:
    assert [line.split(":")[0] for line in format_help().splitlines()] == [f"/{name}" for name in COMMAND_DESCRIPTIONS]


def test_a_code_has_forty_bits_and_no_sign_that_is_taken_for_another() -> None:
    codes = {generate_code() for _ in range(200)}
    assert len(codes) == 200
    assert all(len(code) == 8 and set(code) <= set(CODE_ALPHABET) for code in codes)
    assert len(CODE_ALPHABET) == 32
    assert not set("01IO") & set(CODE_ALPHABET)


def test_how_a_code_is_typed_does_not_matter() -> None:
    assert normalize_code(" k7q2-m9xa\n") == "K7Q2M9XA"


@given(st.text(CODE_ALPHABET, min_size=8, max_size=8))
def test_a_button_gives_back_what_it_was_given(code: str) -> None:
    for button in build_approval_buttons(code):
        assert len(button.data.encode()) <= 64
        press = parse_callback_data(button.data)
        assert press is not None
        assert (press.code, press.verdict) == (code, button.label.lower())


@given(st.text(CODE_ALPHABET, min_size=8, max_size=8), st.lists(st.text(min_size=1), max_size=10))
def test_a_button_of_a_choice_gives_back_its_number(code: str, labels: list[str]) -> None:
    *choices, cancel = build_choice_buttons(code, labels)
    assert [parse_callback_data(each.data) for each in choices] == [
        ApprovalPress(code, "answer", number) for number in range(1, len(labels) + 1)
    ]
    assert (parse_callback_data(cancel.data), cancel.label) == (ApprovalPress(code, "reject"), "Cancel")


@given(st.text(max_size=70))
def test_any_other_data_is_no_press(data: str) -> None:
    assert parse_callback_data(data) is None or data.startswith("ap:")
