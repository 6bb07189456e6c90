import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon_channels.rules.commands import COMMANDS, Command, command_of, help_text
from sophon_channels.rules.presses import buttons_of, press_of
from sophon_channels.rules.tokens import ALPHABET, as_code, new_code


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/stop", Command("stop")),
        ("  /STOP@sophon_bot ", Command("stop")),
        ("/reject K7Q2M9XA too  expensive", Command("reject", "K7Q2M9XA too  expensive")),
        ("/reject K7Q2M9XA\nfor this", Command("reject", "K7Q2M9XA\nfor this")),
        ("/dance", Command("dance")),
        ("/etc/hosts", None),
        ("/", None),
        ("/2", None),
        ("stop", None),
        ("please /stop", None),
        ("", None),
    ],
)
def test_what_is_a_command(text: str, expected: Command | None) -> None:
    assert command_of(text) == expected


@given(st.text())
def test_whatever_is_written_is_a_command_or_none(text: str) -> None:
    found = command_of(text)
    assert found is None or (text.strip().startswith("/") and found.name == found.name.lower())


def test_help_names_every_command() -> None:
    assert [line.split(":")[0] for line in help_text().splitlines()] == [f"/{name}" for name in COMMANDS]


def test_a_code_has_forty_bits_and_no_sign_that_is_taken_for_another() -> None:
    codes = {new_code() for _ in range(200)}
    assert len(codes) == 200
    assert all(len(code) == 8 and set(code) <= set(ALPHABET) for code in codes)
    assert len(ALPHABET) == 32
    assert not set("01IO") & set(ALPHABET)


def test_how_a_code_is_typed_does_not_matter() -> None:
    assert as_code(" k7q2-m9xa\n") == "K7Q2M9XA"


@given(st.text(ALPHABET, min_size=8, max_size=8))
def test_a_button_gives_back_what_it_was_given(code: str) -> None:
    for button in buttons_of(code):
        assert len(button.data.encode()) <= 64
        press = press_of(button.data)
        assert press is not None
        assert (press.code, press.verdict) == (code, button.label.lower())


@given(st.text(max_size=70))
def test_any_other_data_is_no_press(data: str) -> None:
    assert press_of(data) is None or data.startswith("ap:")
