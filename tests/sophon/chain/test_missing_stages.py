"""A setting of a program that its chain does not follow is named in the log; one that it follows is not."""

from typing import Any

import pytest

from sophon import Services
from sophon_hosting.chain_factory import build_named_chain
from sophon_middlewares.chains import twelve

GUARDED: dict[str, Any] = {"Guards": {"Protection": {"Enabled": True}, "InformationFlow": {"Mode": "Enforce"}}}


def warnings_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage().partition(" does nothing")[0] for record in caplog.records]


async def test_a_guard_that_is_set_and_not_in_the_chain_is_named_once(caplog: pytest.LogCaptureFixture) -> None:
    services = Services(settings=GUARDED)
    for _ in range(2):
        await twelve(services).run(services.turn("hi"))
    assert warnings_of(caplog) == ["the setting Guards.InformationFlow", "the setting Guards.Protection"]


@pytest.mark.parametrize(
    ("settings", "path"),
    [
        ({"Agents": {"Directory": "agents"}}, "Agents.Directory"),
        ({"Skills": {"Directories": ["skills"]}}, "Skills.Directories"),
        ({"CustomTools": {"Enabled": True}}, "CustomTools.Enabled"),
        ({"Decisions": {"Enabled": True}}, "Decisions.Enabled"),
        ({"Preferences": {"Enabled": True}}, "Preferences"),
    ],
)
async def test_so_is_any_other_setting_that_needs_a_middleware(
    settings: dict[str, Any], path: str, caplog: pytest.LogCaptureFixture
) -> None:
    services = Services(settings=settings)
    await twelve(services).run(services.turn("hi"))
    assert warnings_of(caplog) == [f"the setting {path}"]


@pytest.mark.parametrize(
    "settings",
    [
        {
            **GUARDED,
            "Agents": {"Directory": "agents"},
            "CustomTools": {"Enabled": True},
            "Decisions": {"Enabled": True},
        },
        {"Guards": {"Protection": {"Enabled": False}}, "Tools": {"MaxParallel": 2}},
    ],
    ids=["on", "off"],
)
async def test_a_chain_with_what_the_settings_insert_has_no_warning(
    settings: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    services = Services(settings=settings)
    await build_named_chain(services, "twelve").run(services.turn("hi"))
    assert warnings_of(caplog) == []
