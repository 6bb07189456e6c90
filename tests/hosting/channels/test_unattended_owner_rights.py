"""A schedule runs only for an owner who may still write to the host, and may still chat."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sophon import Services
from sophon.testing import VirtualClock
from sophon_channels.access_policy import AccessPolicy
from sophon_channels.testing import SyntheticChannel
from sophon_hosting.channels.channel_factory import ConfiguredChannel
from sophon_hosting.channels.unattended_owner_rights import OwnerRights
from sophon_hosting.features.schedules.schedule import Schedule
from sophon_hosting.store.contract import HostStore
from sophon_hosting.store.factory import host_store_from_url
from tests.hosting.features.schedules.conftest import T0

USERS = [{"Id": "ada", "Token": "a long token of ada"}]
SCHEDULE = Schedule("sch_1", "ada", "s", "hub", "x", "interval", "60", "UTC", T0, "ada")


def services(store: HostStore | None = None, **settings: Any) -> Services:
    return Services(clock=VirtualClock(start=T0), settings=settings, store=store)


@pytest.mark.parametrize(
    ("users", "owner", "problem"),
    [
        (USERS, "ada", ""),
        ([], "local", ""),
        (USERS, "bob", "bob is no user of this host any more"),
        (USERS, "local", "local is no user of this host any more"),
        ([], "ada", "ada is no user of this host any more"),
    ],
)
async def test_an_owner_who_was_removed_runs_nothing(users: list[Any], owner: str, problem: str):
    rights = OwnerRights(services(Hub={"Users": users}), [])
    assert await rights.find_problem(replace(SCHEDULE, owner=owner)) == problem


async def test_an_owner_who_may_not_chat_any_more_runs_nothing():
    levels = {"User": {"Features": ["Memory"]}}
    rights = OwnerRights(services(Hub={"Users": USERS}, Permissions={"Levels": levels}), [])
    assert await rights.find_problem(SCHEDULE) == "ada may not chat any more: the level is User"


@pytest.mark.parametrize(
    ("policy", "problem"),
    [
        (AccessPolicy(allow_from=frozenset({"5"}), direct_policy="AllowList"), ""),
        (AccessPolicy(direct_policy="AllowList"), "telegram:5 may not write in this chat any more"),
        (AccessPolicy(direct_policy="Pairing"), "telegram:5 may not write in this chat any more"),
        (AccessPolicy(frozenset({"5"}), direct_policy="Disabled"), "telegram:5 may not write in this chat any more"),
    ],
)
async def test_a_person_of_a_channel_must_be_let_in(policy: AccessPolicy, problem: str, tmp_path: Path):
    channel = SyntheticChannel("telegram")
    schedule = replace(
        SCHEDULE, owner="telegram:5", channel="telegram", origin={"chat": "5", "place": {"chat": "5", "kind": "direct"}}
    )
    async with services(host_store_from_url("memory://", folder=tmp_path)) as parts:
        rights = OwnerRights(parts, [ConfiguredChannel(channel, policy)])
        assert await rights.find_problem(schedule) == problem
    assert await OwnerRights(services(), []).find_problem(schedule) == "the channel telegram is not enabled"
