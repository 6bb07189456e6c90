"""Permissions that are set and deny nothing are dangerous."""

from typing import Any

import pytest

from sophon.settings import Settings
from sophon_hosting.dangerous_settings.finder import find_dangerous_settings

OFF = {"Guards": {"Authorization": {"Enabled": False}}}
ALLOW = {"Principal": "ada", "Resource": "tool:files.*", "Effect": "Allow"}


def guarded(*rules: dict[str, Any], **permissions: Any) -> dict[str, Any]:
    return {"Guards": {"Authorization": {"Enabled": True, "Rules": list(rules)}}, "Permissions": permissions}


@pytest.mark.parametrize(
    ("settings", "path"),
    [
        (guarded(), "Guards.Authorization without rules"),
        ({"Guards": {"Authorization": {"Enabled": False, "Rules": [ALLOW]}}}, "Guards.Authorization.Enabled false"),
        ({**OFF, "Permissions": {"Users": {"bob": {"Level": "ZeroTrust"}}}}, "Guards.Authorization.Enabled false"),
        ({**OFF, "Permissions": {"Ceiling": "ZeroTrust"}}, "Guards.Authorization.Enabled false"),
        ({**OFF, "Permissions": {"Levels": {"User": {"Tools": []}}}}, "Guards.Authorization.Enabled false"),
        (guarded({**ALLOW, "Principal": "*", "Resource": "*"}), "Guards.Authorization.Rules[0]"),
        (guarded({**ALLOW, "Principal": "*", "Resource": "tool:*"}), "Guards.Authorization.Rules[0]"),
        (guarded(ALLOW, Levels={"ZeroTrust": {"Tools": ["*"]}}), "Permissions.Levels.ZeroTrust.Tools *"),
    ],
)
def test_permissions_that_deny_nothing_are_named(settings: dict[str, Any], path: str) -> None:
    assert path in [each.path for each in find_dangerous_settings(Settings.from_mapping(settings))]


@pytest.mark.parametrize(
    "settings",
    [
        {},
        guarded(ALLOW),
        guarded({**ALLOW, "Principal": "*", "Resource": "*", "Conditions": {"Time": ["09:00", "17:00"]}}),
        guarded(Users={"*": {"Level": "ZeroTrust"}}),
        {"Permissions": {"Users": {"ada": {"Level": "Admin"}}}},
        {"Permissions": {"Users": {"bob": {"Level": "ZeroTrust"}}}},
        {"Guards": {"Authorization": {"Rules": [ALLOW]}}},
    ],
)
def test_permissions_that_deny_something_are_not_dangerous(settings: dict[str, Any]) -> None:
    assert find_dangerous_settings(Settings.from_mapping(settings)) == []
