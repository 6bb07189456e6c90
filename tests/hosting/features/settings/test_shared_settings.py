"""Settings that an operator changes at one process of a group hold at the others, at once and after a restart."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from sophon import Services
from sophon.errors import StoreError
from sophon.settings.loader import load_with_layers
from sophon.testing import VirtualClock
from sophon_hosting.fanout.contract import HostFanout, NoFanout
from sophon_hosting.fanout.local_fanout import LocalFanout, LocalNetwork
from sophon_hosting.features.settings.live_settings import LiveSettings
from sophon_hosting.features.settings.shared_settings import (
    CHECK_SECONDS,
    KIND,
    OWNER,
    VALUE,
    SharedSettings,
    share_change,
)
from sophon_hosting.settings.logging import LoggingSettings
from sophon_hosting.store.channel_state.channel_state_entry import ChannelStateEntry
from sophon_hosting.store.sql_host_store import SqlHostStore
from tests import postgres

AT_ONCE_SECONDS = 20
"""Less than the interval at which lost hints are made up for."""


class Processes:
    """Processes of a group, with folders of their own."""

    def __init__(self, folder: Path, clock: VirtualClock) -> None:
        self._folder, self._clock = folder, clock
        self.state = SqlHostStore("memory://", clock=clock).channel_state
        self.network = LocalNetwork()
        self.shared: list[SharedSettings] = []

    def start_alone(self, name: str) -> LiveSettings:
        """Start one that is in no group."""
        (self._folder / name).mkdir()
        loaded = load_with_layers(folder=self._folder / name, environment={})
        return LiveSettings([Services(settings=loaded.settings, folder=self._folder / name)], loaded)

    async def join(self, name: str, fanout: HostFanout | None = None) -> LiveSettings:
        """Start one; a second one of the same name is its next start."""
        folder = self._folder / name
        folder.mkdir(exist_ok=True)
        loaded = load_with_layers(folder=folder, environment={})
        fanout = fanout or LocalFanout(self.network)
        services = Services(settings=loaded.settings, folder=folder)
        live = LiveSettings([services], loaded, share=share_change(self.state, fanout))
        await fanout.open()
        self.shared.append(SharedSettings(live, self.state, fanout, self._clock))
        await self.shared[-1].start()
        return live


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(auto=False)


@pytest.fixture
async def processes(tmp_path: Path, clock: VirtualClock) -> AsyncIterator[Processes]:
    processes = Processes(tmp_path, clock)
    yield processes
    for each in processes.shared:
        await each.stop()


async def until(is_true: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not is_true():
            await asyncio.sleep(0)


async def test_a_change_and_its_reset_hold_at_the_other_process_without_time_passing(processes: Processes) -> None:
    first, second = await processes.join("a"), await processes.join("b")
    await first.change("ToolFilter.Top", 3, by="olga")
    await until(lambda: second.loaded.settings.tool_filter.top == 3)
    await second.reset("ToolFilter.Top", by="olga")
    await until(lambda: first.loaded.settings.tool_filter.top == 10)


async def test_a_change_whose_hint_is_lost_is_found(processes: Processes, clock: VirtualClock) -> None:
    first, second = await processes.join("a", NoFanout()), await processes.join("b", NoFanout())
    await first.change("ToolFilter.Top", 3, by="olga")
    assert second.loaded.settings.tool_filter.top == 10
    await clock.advance(CHECK_SECONDS)
    await until(lambda: second.loaded.settings.tool_filter.top == 3)


async def test_changes_of_different_settings_at_two_processes_are_both_kept(processes: Processes) -> None:
    first, second = await processes.join("a", NoFanout()), await processes.join("b", NoFanout())
    await first.change("ToolFilter.Top", 3, by="olga")
    await second.change("Planning.MaxDepth", 1, by="olga")
    third = (await processes.join("c")).loaded.settings
    assert (third.tool_filter.top, third.planning.max_depth) == (3, 1)


async def test_a_process_that_was_away_starts_with_what_was_changed_meanwhile(processes: Processes) -> None:
    first = await processes.join("a")
    await first.change("ToolFilter.Top", 3, by="olga")
    await processes.join("b")
    await processes.shared[-1].stop()
    await first.reset("ToolFilter.Top", by="olga")
    assert (await processes.join("b")).loaded.settings.tool_filter.top == 10


async def test_a_value_that_this_version_refuses_hinders_neither_a_start_nor_other_changes(
    processes: Processes, caplog: pytest.LogCaptureFixture
) -> None:
    await processes.state.put(ChannelStateEntry(OWNER, "", KIND, "Planning.Mode", {VALUE: "Sometimes"}))
    first = await processes.join("first")
    second = await processes.join("second")
    await first.change("Logging.Level", "Warning", by="ada")
    await processes.shared[1].apply_changes()
    assert (
        second.loaded.settings.section(LoggingSettings).level
        == first.loaded.settings.section(LoggingSettings).level
        == "Warning"
    )
    assert caplog.text.count("is not taken") == 2  # once at each process


async def test_what_a_process_saved_before_it_joined_stays(processes: Processes) -> None:
    alone = processes.start_alone("a")
    await alone.change("ToolFilter.Top", 3, by="olga")
    assert (await processes.join("a")).loaded.settings.tool_filter.top == 3


async def test_a_change_that_the_store_refuses_is_none(processes: Processes, monkeypatch: pytest.MonkeyPatch) -> None:
    first = await processes.join("a")

    async def refuse(_: object) -> None:
        raise StoreError("store", "it is read-only")

    monkeypatch.setattr(processes.state, "put", refuse)
    with pytest.raises(StoreError):
        await first.change("ToolFilter.Top", 3, by="olga")
    assert (first.loaded.settings.tool_filter.top, first.loaded.saved.read()) == (10, {})


@pytest.fixture
def group() -> dict[str, Any]:
    """Settings of a group with a database of its own."""
    postgres.without_rows()
    return {"Store": {"Url": postgres.MIGRATED}, "Queue": {"Backend": "Postgres"}}


@postgres.needs_postgres
async def test_two_hosts_on_one_postgresql_share_what_is_changed(
    start: Callable[..., Any], group: dict[str, Any]
) -> None:
    first, second = await start(name="a", **group), await start(name="b", **group)
    for site in (first.site, second.site):
        await until(lambda site=site: site.host.fanout.is_connected)
    at_first: httpx.AsyncClient = await first.open("olga")
    answer = await at_first.patch("/api/settings", json={"path": "ToolFilter.Top", "value": 3})
    assert answer.status_code == 200, answer.text
    async with asyncio.timeout(AT_ONCE_SECONDS):
        while second.site.services.settings.tool_filter.top != 3:
            await asyncio.sleep(0.01)
    found = (await (await second.open("olga")).get("/api/settings")).json()["items"]
    assert {each["path"]: each["value"] for each in found}["ToolFilter.Top"] == 3
    assert (second.folder / "data" / ".sophon" / "appsettings.local.json").exists()
