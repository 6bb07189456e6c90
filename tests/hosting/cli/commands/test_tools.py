"""`sophon tools`: which tools a person may use, by the settings alone."""

import json
from pathlib import Path

from tests.hosting.cli.conftest import Command

LIMITED = {
    "Guards": {"Authorization": {"Enabled": True}},
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


def test_without_the_guard_nothing_is_hidden(sophon: Command) -> None:
    done = sophon("tools", "--user", "bob")
    assert "Guards.Authorization is off" in done.err
    assert "system.execute" in done.out
