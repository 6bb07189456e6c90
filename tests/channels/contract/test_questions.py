"""A question that a host has stored: every channel sends it, or its turn ends; none waits for ever unseen."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from sophon import Services
from sophon.principals import channel_person_principal
from sophon.testing import FunctionModel
from sophon_channels.access_policy import AccessPolicy
from sophon_channels.contract import Channel
from sophon_channels.outbound_entry import OutboundEntry
from sophon_hosting.channels.channel_factory import ConfiguredChannel
from sophon_hosting.channels.channel_lifecycle import ChannelLifecycle
from sophon_hosting.channels.configured_channels import ConfiguredChannels
from sophon_hosting.host import Host, RunRequest
from sophon_hosting.leadership.membership import GroupMembership
from sophon_hosting.store.runs.contract import Run
from sophon_hosting.store.sql_host_store import SqlHostStore
from sophon_middlewares.chains import twelve
from tests.channels.contract.test_every_channel import CHATS, channel
from tests.hosting.channels.test_platforms import answer, pay

__all__ = ["channel"]

pytestmark = pytest.mark.usefixtures("email_package")
PATIENCE_SECONDS = 60
"""A test that would hang fails instead; one that passes never waits for this."""

NAMES = [
    pytest.param("Bob", id="short"),
    pytest.param("x" * 10_000, id="long"),
    pytest.param("*_`[<b>&amp;](x) \u202e\u200b\u2028 " * 300, id="hostile"),
]


class Asking:
    """A host with one channel, whose turns ask before they pay."""

    def __init__(self, channel: Channel, **approval: Any) -> None:
        self.channel = channel
        settings = {"Planning": {"Mode": "Never"}, "AgentExecution": {"Titles": False}, "Approval": approval}
        self._services = Services(
            models=FunctionModel(answer), tools=[pay], settings=settings, store=SqlHostStore("memory://")
        )
        membership = GroupMembership(self._services)
        channels = ConfiguredChannels(self._services, [ConfiguredChannel(channel, AccessPolicy())], membership)
        self.host = Host(
            self._services,
            twelve(self._services),
            build_outbound=channels.replies,
            membership=membership,
            outbox_changes=channels.outbox_changes,
        )
        self.supervisor = ChannelLifecycle(self.host, channels)

    async def open(self) -> None:
        await self._services.open()
        await self.host.start()
        self.supervisor.start()

    async def close(self) -> None:
        await self.supervisor.stop_receiving()
        await self.host.shutdown(grace_seconds=0)
        await self.supervisor.stop()

    async def ask(self, name: str) -> str:
        """Accept a message of which the turn asks; return the task."""
        chat = CHATS.get(self.channel.name, ("10", "11"))[0]
        request = RunRequest(
            text=f"pay {name}",
            session_id="s",
            owner=channel_person_principal(self.channel.name, chat),
            channel=self.channel.name,
            account=self.channel.account,
            origin={"chat": chat, "kind": "direct", "place": {"chat": chat, "kind": "direct"}},
        )
        return (await self.host.accept(request)).task_id

    async def until(self, task: str, found: Callable[[Run, list[OutboundEntry]], bool]) -> list[OutboundEntry]:
        """Wait until the run and the entries of its questions are so; return these."""
        store = self._services.store
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                questions = [each for each in await store.outbox.list() if each.kind == "question"]
                if found(await store.runs.get(task), questions):
                    return questions
                await asyncio.sleep(0.01)


@pytest.fixture
async def make_asking(channel: Channel) -> AsyncIterator[Callable[..., Asking]]:
    made: list[Asking] = []
    await channel.stop()  # the host starts it

    def make(**approval: Any) -> Asking:
        made.append(Asking(channel, **approval))
        return made[-1]

    yield make
    for each in made:
        await each.close()


@pytest.mark.parametrize("name", NAMES)
async def test_a_stored_question_is_sent_whatever_it_contains(make_asking: Callable[..., Asking], name: str) -> None:
    asking = make_asking(Timeout="01:00:00")
    await asking.open()
    task = await asking.ask(name)
    questions = await asking.until(
        task, lambda run, found: run.is_finished or bool(found and all(each.status == "sent" for each in found))
    )
    assert questions
    assert {each.status for each in questions} == {"sent"}
    assert not (await asking.host.services.store.runs.get(task)).is_finished


async def test_the_turn_of_a_question_that_nobody_sees_ends(make_asking: Callable[..., Asking]) -> None:
    asking = make_asking(Timeout="00:00:01")
    await asking.open()
    await asking.channel.stop()  # it sends nothing from now on
    task = await asking.ask("Bob")
    await asking.until(task, lambda run, _: run.is_finished)
