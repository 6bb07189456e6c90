"""Permissions in the settings: levels, features, and rules that cannot be read."""

from typing import Any

import pytest

from sophon.errors import SettingsError
from sophon.security.authorization.permission_levels import Level
from sophon.settings import Settings
from sophon.settings.types.section import get_adapter
from tests.tables import table

OFF = {"Guards": {"Authorization": {"Enabled": False}}}
ALLOW = {"Principal": "ada", "Resource": "tool:files.*", "Effect": "Allow"}


def guarded(*rules: dict[str, Any], **permissions: Any) -> dict[str, Any]:
    return {"Guards": {"Authorization": {"Enabled": True, "Rules": list(rules)}}, "Permissions": permissions}


@table(
    ("settings", "problem"),
    [
        ({"Permissions": {"Users": {"*": {"Level": "Admin"}}}}, "Users.*.Level: Admin is above Permissions.Ceiling"),
        ({"Permissions": {"Channels": {"telegram": {"Level": "Admin"}}}}, "above Permissions.Ceiling (User)"),
        ({"Permissions": {"Ceiling": "ZeroTrust", "Users": {"*": {"Level": "User"}}}}, "above Permissions.Ceiling"),
        ({"Permissions": {"Chats": {"lounge": {"Level": "User"}}}}, "it is no principal of a group"),
        ({"Permissions": {"Users": {"ada": {"Roles": ["Admin"]}}}}, "is the role of a level, which Level sets"),
        ({"Permissions": {"Users": {"ada": {"Roles": ["x*"]}}}}, "is not a name of a role"),
        ({"Permissions": {"Levels": {"User": {"Tools": ["f*s"]}}}}, "* may stand only at the end"),
        ({"Permissions": {"Levels": {"User": {"Features": ["Fly"]}}}}, "Features"),
        ({"Permissions": {"Users": {"ada": {"MaxTeir": 1}}}}, "MaxTeir"),
        (guarded({**ALLOW, "Resource": "files.read"}), "is not a resource; write it as tool:files.read"),
        (guarded({**ALLOW, "Resource": "path:*"}), "is not a resource"),
        (guarded({**ALLOW, "Principal": "a*a"}), "* may stand only at the end"),
        (guarded({**ALLOW, "Effect": "Maybe"}), "Effect"),
        (guarded({**ALLOW, "Conditions": {"Time": ["9", "17:00"]}}), "'9' is not a time HH:MM"),
        (guarded({**ALLOW, "Conditions": {"MaxCost": -1}}), "MaxCost"),
        (guarded({**ALLOW, "Conditions": {"Channels": []}}), "Channels"),
    ],
)
def test_permissions_that_make_no_sense_are_refused(settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(SettingsError) as caught:
        Settings.from_mapping(settings)

    assert problem in str(caught.value)


def test_the_layers_of_the_settings_give_the_level() -> None:
    permissions = Settings.from_mapping(
        {
            "Permissions": {
                "Users": {"*": {"Level": "zerotrust"}, "ada": {"Level": "Admin", "Roles": ["editor"]}},
                "Channels": {"telegram": {"Level": "User"}},
                "Chats": {"telegram:chat:-100": {"Level": "ZeroTrust"}},
            }
        }
    ).permissions

    assert permissions.level_of("bob", channel="hub") is Level.ZERO_TRUST
    assert permissions.level_of("telegram:5", channel="telegram") is Level.USER
    assert permissions.level_of("telegram:5", channel="telegram", chat="telegram:chat:-100") is Level.ZERO_TRUST
    assert permissions.level_of("ada", channel="telegram") is Level.ADMIN
    assert permissions.level_of("bob", channel="webhook") is Level.ZERO_TRUST
    assert permissions.roles_of("ada") == ("role:editor",)
    assert permissions.roles_of("bob") == ()


def test_a_level_names_its_features() -> None:
    levels = Settings.from_mapping({"Permissions": {"Levels": {"User": {"Features": ["chat"]}}}}).permissions.levels

    assert levels.allows(Level.USER, "Chat")
    assert not levels.allows(Level.USER, "Memory")
    assert levels.find_needed_level("Memory") is Level.ADMIN
    assert [levels.list_tools(level) for level in Level] == [(), ("*",), ("*",)]


@table(
    ("settings", "is_enforced"),
    [
        ({"Permissions": {"Users": {"bob": {"Level": "ZeroTrust"}}}}, True),
        ({"Permissions": {"Users": {"*": {"Level": "zerotrust"}}}}, True),
        ({"Permissions": {"Channels": {"telegram": {"Level": "ZeroTrust"}}}}, True),
        ({"Permissions": {"Chats": {"telegram:chat:-100": {"Level": "ZeroTrust"}}}}, True),
        ({"Permissions": {"Ceiling": "ZeroTrust"}}, True),
        ({"Permissions": {"Levels": {"User": {"Tools": ["files.*"]}}}}, True),
        ({"Guards": {"Authorization": {"Rules": [ALLOW]}}}, True),
        ({}, False),
        ({"Permissions": {"Users": {"ada": {"Level": "Admin"}}}}, False),
        ({"Permissions": {"Levels": {"ZeroTrust": {"Tools": ["datetime.now"]}}}}, False),
        ({**OFF, "Permissions": {"Users": {"bob": {"Level": "ZeroTrust"}}}}, False),
        ({"Guards": {"Authorization": {"Enabled": False, "Rules": [ALLOW]}}}, False),
    ],
)
def test_a_level_or_rule_that_denies_something_is_enforced_unless_it_was_switched_off(
    settings: dict[str, Any], is_enforced: bool
) -> None:
    assert bool(Settings.from_mapping(settings).guards.authorization.enabled) is is_enforced


def test_what_is_derived_is_derived_by_both_ways_of_validation() -> None:
    settings = {"permissions": {"users": {"bob": {"level": "ZeroTrust"}}}}
    assert Settings.accept_plain(settings).guards.authorization.enabled
    assert get_adapter(Settings).validate_python(settings).guards.authorization.enabled


@table(
    ("levels", "channel", "level"),
    [
        ({"hub": "ZeroTrust"}, "webhook", Level.ZERO_TRUST),
        ({"hub": "ZeroTrust"}, "heartbeat", Level.ZERO_TRUST),
        ({"hub": "ZeroTrust", "webhook": "User"}, "webhook", Level.USER),
        ({"hub": "ZeroTrust"}, "cli", Level.USER),
        ({"local": "ZeroTrust"}, "cli", Level.ZERO_TRUST),
        ({"local": "ZeroTrust"}, "hub", Level.USER),
    ],
)
def test_what_the_hub_denies_no_webhook_and_no_heartbeat_gives(levels: dict[str, str], channel: str, level: Level):
    channels = {name: {"Level": each} for name, each in levels.items()}
    permissions = Settings.from_mapping({"Permissions": {"Channels": channels}}).permissions
    assert permissions.level_of("ada", channel=channel) is level
