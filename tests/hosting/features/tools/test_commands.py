"""`sophon tools`: which tools a person may use, by the settings alone."""

import json
from pathlib import Path

import pytest

from sophon.skills.custom_tools import CustomToolDraft, CustomToolStore
from tests.hosting.conftest import Command

LIMITED = {
    "Permissions": {
        "Users": {"bob": {"Level": "ZeroTrust"}},
        "Chats": {"telegram:chat:-100": {"Level": "ZeroTrust"}},
        "Levels": {"ZeroTrust": {"Tools": ["datetime.now"]}},
    },
    "Hub": {"Users": [{"Id": "ada", "Token": "ada-token-0123456789", "Operator": True}]},
}


def test_the_tools_of_a_person_are_listed_with_the_number_of_the_others(sophon: Command, folder: Path) -> None:
    (folder / "appsettings.json").write_text(json.dumps({"Sophon": LIMITED}))
    whole = sophon("tools", "--user", "ada", "--json").json
    bob = sophon("tools", "--user", "bob", "--json").json
    group = sophon("tools", "--user", "eve", "--chat", "telegram:chat:-100", "--channel", "telegram", "--json").json

    assert (whole["level"], whole["hidden"]) == ("Admin", 0)
    for found in (bob, group):
        assert (found["level"], [each["name"] for each in found["items"]]) == ("ZeroTrust", ["datetime.now"])
        assert found["hidden"] == len(whole["items"]) - 1
    assert "bob has the level ZeroTrust and may use 1 of" in sophon("tools", "--user", "bob").out


def test_a_description_is_its_first_sentence_whatever_lines_it_has(sophon: Command) -> None:
    rows = {line.split()[0]: line.strip() for line in sophon("tools").out.splitlines() if line}
    assert rows["schedules.add"].endswith(
        "at its times you get the text as a message, and your answer goes to this chat."
    )
    assert rows["load_tools"].endswith("when none of the offered ones fits.")
    assert rows["calculator"].endswith(".")


def test_without_the_guard_nothing_is_hidden(sophon: Command, folder: Path) -> None:
    off = {**LIMITED, "Guards": {"Authorization": {"Enabled": False}}}
    (folder / "appsettings.json").write_text(json.dumps({"Sophon": off}))
    done = sophon("tools", "--user", "bob")
    assert "Guards.Authorization is off" in done.err
    assert "system.execute" in done.out
    assert "schedules.add" in done.out, "a host has the tools of schedules"


@pytest.fixture
def store(folder: Path) -> CustomToolStore:
    """A folder of custom tools, switched on in the settings, with a tool of Ada's."""
    (folder / "appsettings.json").write_text(json.dumps({"Sophon": {"CustomTools": {"Enabled": True}}}))
    store = CustomToolStore(folder / "data" / "custom-tools")
    draft = CustomToolDraft("double", "Doubles a number.", "print('doubled')", {"type": "object"})
    store.create(draft, owner="ada", at="2026-01-01", sources=["http.request https://example.org/"])
    return store


def test_a_custom_tool_is_listed_for_its_user_and_shown_with_its_program(
    sophon: Command, store: CustomToolStore
) -> None:
    listed = sophon("tools", "list", "--user", "ada", "--json").json["items"]
    assert "custom.double" in [each["name"] for each in listed]
    assert "custom.double" not in sophon("tools", "--user", "bob").out
    shown = sophon("tools", "show", "custom.double").out
    for part in ("owner:       ada", "enabled:     True", "https://example.org/", "print('doubled')"):
        assert part in shown
    assert sophon("tools", "show", "double", "--json").json["program"] == "print('doubled')"


def test_a_custom_tool_is_switched_shared_and_deleted(sophon: Command, store: CustomToolStore) -> None:
    assert sophon("tools", "disable", "double").out == "custom.double is off from the next turn.\n"
    assert store.find("double", None).is_enabled is False
    assert sophon("tools", "enable", "custom.double").out == "custom.double is on from the next turn.\n"
    assert "for all users" in sophon("tools", "share", "double").out
    assert "custom.double" in sophon("tools", "--user", "bob").out
    assert "for its user only" in sophon("tools", "share", "double", "--undo").out
    assert store.find("double", None).is_shared is False
    assert sophon("tools", "delete", "double").out == "custom.double was deleted.\n"
    assert dict(store.read().tools) == {}


@pytest.mark.parametrize("command", ["show", "enable", "disable", "share", "delete"])
def test_a_tool_that_is_not_there_is_one_line(sophon: Command, store: CustomToolStore, command: str) -> None:
    done = sophon("tools", command, "doubel")
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert "there is no custom tool 'doubel'" in done.err


def test_a_changed_program_is_a_problem_and_not_listed(sophon: Command, store: CustomToolStore) -> None:
    (store.folder / "double" / "main.py").write_text("print('evil')")
    done = sophon("tools", "list", "--user", "ada")
    assert "custom.double" not in done.out
    assert "changed after it was approved" in done.err


def test_a_changed_program_is_shown_as_off_and_can_be_deleted(sophon: Command, store: CustomToolStore) -> None:
    (store.folder / "double" / "main.py").write_text("print('evil')")
    shown = sophon("tools", "show", "double").out
    assert ("enabled:     False" in shown, "problem:     the program or its manifest was changed" in shown) == (
        True,
        True,
    )
    assert ("owner:       ada" in shown, "evil" in shown) == (True, False)
    refused = sophon("tools", "enable", "double")
    assert (refused.code, "custom.double is off: the program or its manifest was changed" in refused.err) == (1, True)
    assert sophon("tools", "delete", "double").out == "custom.double was deleted.\n"
    assert not (store.folder / "double").exists()


def test_without_custom_tools_the_command_says_which_setting(sophon: Command) -> None:
    assert "CustomTools.Enabled" in sophon("tools", "disable", "double").err
