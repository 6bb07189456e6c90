"""A channel in several processes: one of them receives by polling and sends; another takes over."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from sophon import Services
from sophon.testing import VirtualClock
from sophon_channels.outbound_entry import OutboundEntry
from sophon_channels.testing import SyntheticChannel
from sophon_hosting.channels.channel_factory import ConfiguredChannel
from sophon_hosting.channels.channel_lifecycle import ChannelLifecycle
from sophon_hosting.channels.configured_channels import ConfiguredChannels
from sophon_hosting.host import Host
from sophon_hosting.leadership.membership import GroupMembership
from sophon_hosting.store.sql_host_store import SqlHostStore
from sophon_middlewares.chains import twelve
from tests.hosting.channels.conftest import LET_IN, Brain


@dataclass
class Process:
    """One process of a group, with its own connection to the platform."""

    host: Host
    lifecycle: ChannelLifecycle
    channel: SyntheticChannel
    has_ended: bool = False

    @property
    def is_running(self) -> bool:
        return self.channel.health.state == "running"

    async def end(self) -> None:
        if not self.has_ended:
            self.has_ended = True
            await self.lifecycle.stop_receiving()
            await self.host.shutdown(grace_seconds=0)
            await self.lifecycle.stop()


@asynccontextmanager
async def processes(
    clock: VirtualClock, store: SqlHostStore, *, is_shared: bool = True
) -> AsyncGenerator[list[Process]]:
    made: list[Process] = []
    for _ in range(2):
        services = Services(models=Brain().model(), store=store, clock=clock)
        channel = SyntheticChannel()
        membership = GroupMembership(services, is_shared=is_shared)
        channels = ConfiguredChannels(services, [ConfiguredChannel(channel, LET_IN)], membership)
        host = Host(
            services,
            twelve(services),
            build_outbound=channels.replies,
            prepare=channels.prepare_run,
            membership=membership,
            outbox_changes=channels.outbox_changes,
        )
        lifecycle = ChannelLifecycle(host, channels)
        await services.open()
        await host.start()
        lifecycle.start()
        made.append(Process(host, lifecycle, channel))
    try:
        yield made
    finally:
        for process in made:
            await process.end()


async def advance_until(clock: VirtualClock, condition: Callable[[], bool], most: int = 30) -> None:
    for _ in range(most * 2):
        await clock.advance(0.5)
        await asyncio.sleep(0.01)  # threads work in real time
        if condition():
            return
    raise AssertionError(f"not within {most} s")


def entry(number: int, channel: SyntheticChannel) -> OutboundEntry:
    payload = {"text": f"text {number}"}
    return OutboundEntry(f"e:{number}", None, channel.name, channel.account, "7", "reply", payload)


async def test_one_process_polls_and_sends_and_another_takes_over() -> None:
    clock = VirtualClock(auto=False)
    store = SqlHostStore("memory://", clock=clock)
    async with processes(clock, store) as both:
        await advance_until(clock, lambda: any(each.is_running for each in both))
        await clock.advance(20)
        [leader] = [each for each in both if each.is_running]
        [other] = [each for each in both if each is not leader]
        await store.outbox.add([entry(1, leader.channel)])
        await advance_until(clock, lambda: len(leader.channel.sent) == 1)
        assert other.channel.sent == []
        await leader.end()
        await advance_until(clock, lambda: other.is_running, most=5)
        await store.outbox.add([entry(2, other.channel)])
        await advance_until(clock, lambda: len(other.channel.sent) == 1)
        assert len(leader.channel.sent) == 1


async def test_processes_that_lead_without_a_lease_both_poll() -> None:
    clock = VirtualClock(auto=False)
    async with processes(clock, SqlHostStore("memory://", clock=clock), is_shared=False) as both:
        await clock.advance(20)
        assert [each.is_running for each in both] == [True, True]
